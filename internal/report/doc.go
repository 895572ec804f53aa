// Package report turns results into what people look at: one self-contained page of text, pictures and tables, and the same
// pictures as SVG and PNG and figures as CSV. It computes nothing that isn't in a result but order statistics for its pictures.
package report

package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// client is the S3 client of the AWS SDK, with the key id and secret; id "": unsigned.
func (s *stage) client(id, secret string) *s3.Client {
	o := s3.Options{BaseEndpoint: &s.url, Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 1}
	o.Credentials = aws.AnonymousCredentials{}
	if id != "" {
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, "")
	}
	return s3.New(o)
}

const testSecret = "a secret of the tests, without spaces"

// TestSDK: the AWS SDK for Go reads, signed and not, as it reads from S3.
func TestSDK(t *testing.T) {
	dir := t.TempDir()
	content := random(3_000_000)
	write(t, dir, "big.bin", content)
	write(t, dir, "sub/a b+c%d ü.txt", []byte("hello"))
	write(t, dir, "sub/x/y", []byte("y"))
	for what, keys := range map[string][]Key{"unsigned": nil, "signed": {{"other", testSecret + "!"}, {"tester", testSecret}}} {
		t.Run(what, func(t *testing.T) {
			s := newStage(t, dir, Options{Buckets: []Bucket{{"data", "/site/data"}}, Keys: keys})
			c := s.client("", "")
			if keys != nil {
				c = s.client("tester", testSecret)
			}
			sdkReads(t, c, content)
			if keys != nil {
				presigned(t, c, content)
			}
		})
	}
}

func sdkReads(t *testing.T, c *s3.Client, content []byte) {
	ctx, data := t.Context(), aws.String("data")
	got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: data, Key: aws.String("big.bin")})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil || !bytes.Equal(body, content) {
		t.Errorf("GetObject: %d bytes, %v", len(body), err)
	}
	part, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: data, Key: aws.String("big.bin"), Range: aws.String("bytes=1000000-1999999"), IfMatch: got.ETag})
	if err != nil {
		t.Fatal(err)
	}
	if body, err = io.ReadAll(part.Body); err != nil || !bytes.Equal(body, content[1_000_000:2_000_000]) || *part.ContentRange != "bytes 1000000-1999999/3000000" {
		t.Errorf("a range: %d bytes, %v", len(body), err)
	}
	head, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: data, Key: aws.String("sub/a b+c%d ü.txt")})
	if err != nil || *head.ContentLength != 5 || head.LastModified == nil {
		t.Errorf("HeadObject: %+v, %v", head, err)
	}
	var keys []string
	pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: data, MaxKeys: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	if !slices.Equal(keys, []string{"big.bin", "sub/a b+c%d ü.txt", "sub/x/y"}) {
		t.Errorf("ListObjectsV2: %q", keys)
	}
	top, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: data, Delimiter: aws.String("/"), Prefix: aws.String("s")})
	if err != nil || len(top.Contents) != 0 || len(top.CommonPrefixes) != 1 || *top.CommonPrefixes[0].Prefix != "sub/" {
		t.Errorf("with a delimiter: %+v, %v", top, err)
	}
	all, err := c.ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil || len(all.Buckets) != 1 || *all.Buckets[0].Name != "data" {
		t.Errorf("ListBuckets: %+v, %v", all, err)
	}
	if _, err := c.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: data}); err != nil {
		t.Errorf("HeadBucket: %v", err)
	}
	if at, err := c.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: data}); err != nil || at.LocationConstraint != "" {
		t.Errorf("GetBucketLocation: %+v, %v", at, err)
	}
	sdkErrors(t, c)
}

// sdkErrors: errors arrive as the types that callers look for.
func sdkErrors(t *testing.T, c *s3.Client) {
	ctx, data := t.Context(), aws.String("data")
	_, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: data, Key: aws.String("none")})
	if _, ok := errors.AsType[*types.NoSuchKey](err); !ok {
		t.Errorf("an object that isn't there: %v", err)
	}
	_, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: data, Key: aws.String("sub")}) // S3 has no directories
	if _, ok := errors.AsType[*types.NotFound](err); !ok {
		t.Errorf("a directory: %v", err)
	}
	_, err = c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("nobody")})
	if _, ok := errors.AsType[*types.NoSuchBucket](err); !ok {
		t.Errorf("a bucket that isn't there: %v", err)
	}
	for code, call := range map[string]func() error{
		"InvalidRange": func() error {
			_, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: data, Key: aws.String("big.bin"), Range: aws.String("bytes=3000000-")})
			return err
		},
		"MethodNotAllowed": func() error {
			_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: data, Key: aws.String("new"), Body: bytes.NewReader([]byte("x"))})
			return err
		},
		"NotImplemented": func() error {
			_, err := c.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: data})
			return err
		},
	} {
		if e, ok := errors.AsType[smithy.APIError](call()); !ok || e.ErrorCode() != code {
			t.Errorf("%v, want %s", e, code)
		}
	}
}

// presigned: a URL that the SDK signs can be fetched by everybody.
func presigned(t *testing.T, c *s3.Client, content []byte) {
	signed, err := s3.NewPresignClient(c).PresignGetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String("data"), Key: aws.String("big.bin"),
	}, s3.WithPresignExpires(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.Get(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if body, err := io.ReadAll(got.Body); err != nil || !bytes.Equal(body, content) {
		t.Errorf("%s: %d bytes, %v", got.Status, len(body), err)
	}
}

// TestSDKRefused: who has no key, or another one, reads nothing, and is told why.
func TestSDKRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", []byte("a"))
	s := newStage(t, dir, Options{Keys: []Key{{"tester", testSecret}}, Buckets: []Bucket{{"data", "/site/data"}}})
	for code, c := range map[string]*s3.Client{
		"AccessDenied": s.client("", ""), "InvalidAccessKeyId": s.client("stranger", testSecret), "SignatureDoesNotMatch": s.client("tester", testSecret+"x"),
	} {
		_, err := c.GetObject(context.Background(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("a")})
		if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	if got := s.ask(t, "GET", "/data/a"); got.StatusCode != 403 || bytes.Contains(got.body, []byte(testSecret)) {
		t.Errorf("an unsigned request: %s %s", got.Status, got.body)
	}
}

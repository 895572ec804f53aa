package status

import _ "embed"

// NodeSchema is the JSON Schema of Node, made from its declaration (see the test).
//
//go:embed node.schema.json
var NodeSchema string

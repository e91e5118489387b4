package mockserver

import _ "embed"

// ConfigTemplate is a commented configuration file that WithConfig accepts, to
// start one's own from. "cycles-mock init" prints it.
//
//go:embed template.yaml
var ConfigTemplate string

// Command docker reads Compose files as `docker compose` does, with the parser of Docker Compose itself, and starts nothing.
//
//	docker compose [--file FILE] up [--detach] [--wait] [SERVICE...]
//
// It evaluates the file with the environment, selects the services, and prints the names of those that would start. Tests put it
// on the PATH under the name `docker` and run the commands that the documentation tells people to run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	services, err := started(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "docker:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(services, " "))
}

func started(args []string) ([]string, error) {
	if len(args) == 0 || args[0] != "compose" {
		return nil, fmt.Errorf("only `docker compose` is known here")
	}
	compose := flag.NewFlagSet("compose", flag.ContinueOnError)
	file := compose.String("file", "", "the Compose file")
	if err := compose.Parse(args[1:]); err != nil {
		return nil, err
	}
	if compose.Arg(0) != "up" {
		return nil, fmt.Errorf("only `docker compose up` is known here")
	}
	up := flag.NewFlagSet("up", flag.ContinueOnError)
	for _, name := range []string{"d", "detach", "wait"} {
		up.Bool(name, false, "")
	}
	if err := up.Parse(compose.Args()[1:]); err != nil {
		return nil, err
	}

	var files []string
	if *file != "" {
		files = []string{*file}
	}
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithDotEnv, cli.WithConfigFileEnv, cli.WithDefaultConfigPath)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	if project, err = project.WithSelectedServices(up.Args()); err != nil {
		return nil, err
	}
	return project.ServiceNames(), nil
}

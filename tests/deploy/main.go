// Command docker parses Compose files with the parser of Docker Compose and starts no service.
//
//	docker compose [--file FILE] up [--detach] [--wait] [SERVICE...]
//
// It evaluates the file with the environment, selects the services, and prints the names of those that would start. Tests put it
// on the PATH as `docker` and run the commands of the documentation.
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
	services, err := selectServices(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "docker:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(services, " "))
}

func selectServices(args []string) ([]string, error) {
	if len(args) == 0 || args[0] != "compose" {
		return nil, fmt.Errorf("this test command supports only `docker compose`")
	}
	compose := flag.NewFlagSet("compose", flag.ContinueOnError)
	file := compose.String("file", "", "the Compose file")
	if err := compose.Parse(args[1:]); err != nil {
		return nil, err
	}
	if compose.Arg(0) != "up" {
		return nil, fmt.Errorf("this test command supports only `docker compose up`")
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

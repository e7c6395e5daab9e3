/** `nodelet completion`: prints completion scripts for shells, and the words that these scripts request. */
import { choosePod, containersOf, listPods } from './client/pods.js';
import { commandNames, loadCommandSpec } from './commands.js';
import { completions } from './completion-words.js';
import { listRuns, type Run } from './run/state.js';

const help = `Prints a shell script that completes commands, flags and pod names.

Usage:
  nodelet completion bash|zsh|fish

Examples:
  # bash: for this shell; add the line to ~/.bashrc for all shells
  source <(nodelet completion bash)
  # zsh
  source <(nodelet completion zsh)
  # fish
  nodelet completion fish | source
`;

const scripts: Readonly<Record<string, string>> = {
  bash: `_nodelet() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _nodelet nodelet
`,
  zsh: `#compdef nodelet
_nodelet() {
  local -a candidates
  candidates=(\${(f)"$("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( \${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef _nodelet nodelet
`,
  fish: `function __nodelet_complete
  set -l tokens (commandline -opc) (commandline -ct)
  $tokens[1] completion words -- $tokens[2..-1] 2>/dev/null
end
complete -c nodelet -a '(__nodelet_complete)'
`,
};

export async function runCompletion(argv: readonly string[]): Promise<number> {
  const [shell, ...more] = argv;
  if (shell === 'words' && more[0] === '--') {
    process.stdout.write((await wordsAtCursor(more.slice(1))).map((word) => `${word}\n`).join(''));
    return 0;
  }
  if (shell === '--help' || shell === '-h') {
    process.stdout.write(help);
    return 0;
  }
  const script = shell === undefined || !Object.hasOwn(scripts, shell) ? undefined : scripts[shell];
  if (script === undefined || more.length > 0) {
    process.stderr.write(
      `nodelet completion: name one shell of bash, zsh, fish\nRun 'nodelet completion --help' for usage.\n`,
    );
    return 2;
  }
  process.stdout.write(script);
  return 0;
}

async function wordsAtCursor(words: readonly string[]): Promise<string[]> {
  const spec = await loadCommandSpec(words[0] ?? '');
  const runs = async (): Promise<Run[]> => (await listRuns()).filter(({ alive }) => alive);
  const pods = async () => (await Promise.all((await runs()).map((run) => listPods(run)))).flat();
  try {
    return await completions(words, {
      commands: commandNames,
      specOf: () => spec,
      pods: async () => (await pods()).map(({ metadata }) => metadata.name),
      containersOf: async (name) =>
        containersOf(choosePod(await pods(), { name, namespace: undefined })).map(
          (container) => container.name,
        ),
      runs: async () => (await listRuns()).map(({ name }) => name),
    });
  } catch {
    // A shell cannot show an error while it completes.
    return [];
  }
}

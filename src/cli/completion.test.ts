import { describe, expect, it } from 'vitest';
import { commandNames, loadCommandSpec } from './commands.js';
import { completions } from './completion-words.js';

const complete = async (line: string): Promise<string[]> => {
  const words = line.split(' ');
  const spec = await loadCommandSpec(words[0] ?? '');
  return completions(words, {
    commands: commandNames,
    specOf: () => spec,
    pods: async () => ['web', 'web-2', 'db'],
    containersOf: async (pod) => [`${pod}-app`, 'side'],
    runs: async () => ['default', 'demo'],
  });
};

describe('completions', () => {
  it.each<[string, string, string[]]>([
    ['commands', 'e', ['exec', 'explain']],
    ['pods', 'logs w', ['web', 'web-2']],
    ['containers after a pod', 'logs web ', ['web-app', 'side']],
    ['containers after -c', 'exec -it web -c s', ['side']],
    ['pods after a flag with a value', 'logs --tail 5 d', ['db']],
    ['flags', 'logs --si', ['--since', '--since-time']],
    ['formats', 'get pods -o ', ['json', 'yaml', 'name', 'wide']],
    ['runs', 'ps --run d', ['default', 'demo']],
    ['kinds', 'get ', ['pods', 'pod']],
    ['several pods', 'stop web d', ['db']],
    ['shells', 'completion z', ['zsh']],
    ['nothing in the command of a container', 'exec web -- l', []],
    ['flags of a run', 'run --d', ['--detach']],
    ['the API of a run', 'run --ap', ['--api']],
    ['following files', 'run --wa', ['--watch']],
    ['manifests of a bare node', 'up --fi', ['--filename']],
    ['runtimes of a run', 'run --runtime ', ['auto', 'containerd', 'process']],
    ['subcommands of cri', 'cri ', ['serve']],
    ['built-in runtimes', 'cri serve --runtime ', ['process', 'sim']],
    ['nothing for file arguments', 'run ', []],
    ['flags of the agent', 'agent --container-runtime-e', ['--container-runtime-endpoint']],
    ['no flags of the agent that have no effect', 'agent --storage-driver', []],
    ['formats after a row of shorthands', 'ps -qo ', ['json']],
  ])('%s', async (_, line, words) => {
    expect(await complete(line)).toEqual(words);
  });
});

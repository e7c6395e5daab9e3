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
    ['containers behind a pod', 'logs web ', ['web-app', 'side']],
    ['containers behind -c', 'exec -it web -c s', ['side']],
    ['pods behind flags with values', 'logs --tail 5 d', ['db']],
    ['flags', 'logs --si', ['--since', '--since-time']],
    ['formats', 'get pods -o ', ['json', 'yaml', 'name', 'wide']],
    ['runs', 'ps --run d', ['default', 'demo']],
    ['kinds', 'get ', ['pods', 'pod']],
    ['several pods', 'stop web d', ['db']],
    ['shells', 'completion z', ['zsh']],
    ['nothing in the command of a container', 'exec web -- l', []],
    ['flags of a run', 'run --d', ['--detach']],
    ['runtimes of a run', 'run --runtime ', ['auto', 'containerd', 'process']],
    ['what can be done with the CRI', 'cri ', ['serve']],
    ['built-in runtimes', 'cri serve --runtime ', ['process', 'sim']],
    ['nothing where files are wanted', 'run ', []],
    ['flags of the agent', 'agent --container-runtime-e', ['--container-runtime-endpoint']],
    ['no flags of the agent that have no effect', 'agent --storage-driver', []],
    ['formats behind a shorthand in a row', 'ps -qo ', ['json']],
  ])('%s', async (_, line, words) => {
    expect(await complete(line)).toEqual(words);
  });
});

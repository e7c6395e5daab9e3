/** The SELinux labels of plugin directories: where they are set, and what becomes of a failure. */

import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { plainOutside } from '../outside.js';
import { labelCommand, labelPluginDirectories } from './plugin-labels.js';

const label = 'system_u:object_r:container_file_t:s0';

async function labelled(isSelinuxEnabled: boolean, failing = '') {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const made: string[] = [];
  const settings = {
    timeline,
    isOwnMachine: true,
    outside: plainOutside(clock),
    // Only this fact of the machine counts here.
    host: { isSelinuxEnabled } as Parameters<typeof labelPluginDirectories>[0]['host'],
    labelFile: async (path: string, text: string) => {
      if (path === failing) throw new Error('Operation not permitted');
      made.push(`${path} ${text}`);
    },
  };
  await labelPluginDirectories(settings, ['/root/plugins', '/root/plugins_registry']);
  return { made, problems: timeline.ofNode().map(({ what, message }) => `${what}: ${message}`) };
}

it('are set on a machine with SELinux', async () => {
  expect(await labelled(true)).toEqual({
    made: [`/root/plugins ${label}`, `/root/plugins_registry ${label}`],
    problems: [],
  });
});

it('are left alone on a machine without', async () => {
  expect(await labelled(false)).toEqual({ made: [], problems: [] });
});

it('are told of where they cannot be set, and the others are set', async () => {
  expect(await labelled(true, '/root/plugins')).toEqual({
    made: [`/root/plugins_registry ${label}`],
    problems: [
      `plugin.directory: /root/plugins does not get the SELinux label ${label}; plugins in containers may not reach it: Operation not permitted`,
    ],
  });
});

it('are set by a program to which no path can be an option', () => {
  expect(labelCommand('/root/plugins', label).words).toEqual(['--', label, '/root/plugins']);
});

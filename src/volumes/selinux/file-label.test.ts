import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { parseContexts, parsePolicyType, readFileLabel } from './file-label.js';

const label = { user: 'system_u', role: 'object_r', type: 'container_file_t', level: 's0' };
const contexts = `
process = "system_u:system_r:container_t:s0"
content = "system_u:object_r:virt_var_lib_t:s0"
file = "system_u:object_r:container_file_t:s0"
ro_file="system_u:object_r:container_ro_file_t:s0"
`;

async function hostWith(files: Readonly<Record<string, string>>) {
  const host = simulatedHost();
  for (const [path, text] of Object.entries(files)) {
    await host.files.mkdir(path.replace(/\/[^/]+$/, ''), { recursive: true });
    await host.files.writeFile(path, text);
  }
  return host;
}

describe('the label of files of containers', () => {
  it.each([
    [contexts, label],
    [
      'file=system_u:object_r:svirt_lxc_file_t:s0:c1,c2',
      { ...label, type: 'svirt_lxc_file_t', level: 's0:c1,c2' },
    ],
    ['# file = "a:b:c:d"', undefined],
    ['ro_file = "a:b:c:d"', undefined],
    ['file = "without:level"', undefined],
    ['file = "a:b:c:s0\\",exec"', undefined],
    ['', undefined],
  ])('in %j is %j', (text, expected) => {
    expect(parseContexts(text)).toEqual(expected);
  });

  it.each([
    ['SELINUX=enforcing\nSELINUXTYPE=targeted\n', 'targeted'],
    ['# SELINUXTYPE=mls\nSELINUXTYPE = minimum ', 'minimum'],
    ['SELINUXTYPE=../../tmp', undefined],
    ['SELINUXTYPE=..', undefined],
    ['SELINUX=disabled', undefined],
  ])('is that of the policy in %j: %s', (config, type) => {
    expect(parsePolicyType(config)).toBe(type);
  });

  it('is read from the file of the policy', async () => {
    const host = await hostWith({
      '/etc/selinux/config': 'SELINUXTYPE=targeted\n',
      '/etc/selinux/targeted/contexts/lxc_contexts': contexts,
    });
    expect(await readFileLabel(host)).toEqual(label);
  });

  it('is that of the package for containers first', async () => {
    const host = await hostWith({
      '/usr/share/containers/selinux/contexts': 'file = "system_u:object_r:container_file_t:s1"',
      '/etc/selinux/config': 'SELINUXTYPE=targeted\n',
      '/etc/selinux/targeted/contexts/lxc_contexts': contexts,
    });
    expect(await readFileLabel(host)).toEqual({ ...label, level: 's1' });
  });

  it.each([
    [{}, '/etc/selinux/config: ENOENT'],
    [{ '/etc/selinux/config': 'SELINUX=enforcing' }, 'does not name the type'],
    [
      { '/etc/selinux/config': 'SELINUXTYPE=targeted' },
      '/etc/selinux/targeted/contexts/lxc_contexts: ENOENT',
    ],
    [
      { '/etc/selinux/config': 'SELINUXTYPE=a', '/etc/selinux/a/contexts/lxc_contexts': 'x' },
      'has no label for files of containers',
    ],
  ])('is not known from %j', async (files, problem) => {
    await expect(readFileLabel(await hostWith(files))).rejects.toThrow(problem);
  });
});

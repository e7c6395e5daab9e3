import { describe, expect, it } from 'vitest';
import { chooseAccount, parsePasswd } from './users.js';

const users = parsePasswd(
  'root:x:0:0:root:/root:/bin/sh\noperator:x:11:0::/root:\n# a remark\nweb:x:33:34:www:/var/www:/usr/sbin/nologin\nme:x:1000:1001::/home/me:\nbroken:x:a:b\n',
);
const root = { uid: 0, gid: 0, home: '/root' };
const me = { uid: 1000, gid: 1001, home: '/home/me' };
const user = (value: number) => ({ runAsUser: { value }, runAsUsername: '' });

describe('the account', () => {
  const rows: [string, Parameters<typeof chooseAccount>[0], typeof root, object | string][] = [
    ['is the agent’s by default', undefined, root, { uid: 0, gid: 0, home: '/root', change: false }],
    ['is the agent’s by default without root', undefined, me, { ...me, change: false }],
    [
      'is the wanted one, with its group',
      user(33),
      root,
      { uid: 33, gid: 34, home: '/var/www', change: true },
    ],
    [
      'may be one that nobody knows, in the group that owns nothing',
      user(4711),
      root,
      { uid: 4711, gid: 65534, home: '/', change: true },
    ],
    [
      'is not in the group of root, though the machine says so',
      user(11),
      root,
      { uid: 11, gid: 65534, home: '/root', change: true },
    ],
    [
      'has the groups of its pod, each once',
      { ...user(33), supplementalGroups: [7, 8, 7] },
      root,
      { uid: 33, gid: 34, groups: [7, 8], home: '/var/www', change: true },
    ],
    ['may not ask for the group of root', { ...user(33), runAsGroup: { value: 0 } }, root, 'group 0'],
    ['nor as another one of several', { ...user(33), supplementalGroups: [5, 0] }, root, 'group 0'],
    [
      'may be root in another group',
      { ...user(0), runAsGroup: { value: 5 }, supplementalGroups: [0] },
      root,
      { uid: 0, gid: 5, groups: [0], home: '/root', change: true },
    ],
    [
      'is found by name',
      { runAsUsername: 'web' },
      root,
      { uid: 33, gid: 34, home: '/var/www', change: true },
    ],
    [
      'may have another group',
      { ...user(33), runAsGroup: { value: 5 } },
      root,
      { uid: 33, gid: 5, home: '/var/www', change: true },
    ],
    ['may be the agent’s own without root', user(1000), me, { ...me, change: false }],
    ['cannot be another without root', user(33), me, 'only root can change users'],
    [
      'cannot have another group without root',
      { runAsUsername: '', runAsGroup: { value: 5 } },
      me,
      'wants to run as 1000:5 but nodelet runs as 1000:1001',
    ],
    ['must be known when it is a name', { runAsUsername: 'nobody2' }, root, 'no user named "nobody2"'],
  ];
  it.each(rows)('%s', (_, wish, agent, expected) => {
    const account = chooseAccount(wish, agent, users);
    if (typeof expected === 'string') expect(account).toContain(expected);
    else expect(account).toEqual({ groups: [], ...expected });
  });
});

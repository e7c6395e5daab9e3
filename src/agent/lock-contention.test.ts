import { expect, it } from 'vitest';
import { heldLock, type LockContention, lockContention } from './lock-contention.js';

it.each<[string, string, string | undefined]>([
  [
    'a descriptor with the lock',
    'pos:\t0\nflags:\t02100002\nmnt_id:\t30\nino:\t77\nlock:\t1: FLOCK  ADVISORY  WRITE 8204 fe:00:77 0 EOF\n',
    'fe:00:77',
  ],
  [
    'an owner without a number here',
    'pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 0 fe:00:77 0 EOF\n',
    'fe:00:77',
  ],
  ['a shared lock', 'pos:\t0\nlock:\t1: FLOCK  ADVISORY  READ 8204 fe:00:77 0 EOF\n', undefined],
  ['no lock', 'pos:\t0\nflags:\t02100002\nmnt_id:\t30\nino:\t77\n', undefined],
])('finds the lock of %s', (_, fdinfo, lock) => expect(heldLock(fdinfo)).toBe(lock));

const held = '1: FLOCK  ADVISORY  WRITE 8204 fe:00:77 0 EOF\n';
const others = '2: POSIX  ADVISORY  WRITE 10 fe:00:77 0 EOF\n3: FLOCK  ADVISORY  READ 11 fe:00:770 0 EOF\n';
it.each<[string, string, LockContention]>([
  ['nobody waits', `${others}${held}`, { kind: 'alone' }],
  [
    'a process waits',
    `${held}1: -> FLOCK  ADVISORY  WRITE 8205 fe:00:77 0 EOF\n${others}`,
    { kind: 'wanted', byPid: 8205 },
  ],
  [
    'a process waits behind another',
    `${held}1:  -> FLOCK  ADVISORY  READ 8206 fe:00:77 0 EOF\n`,
    { kind: 'wanted', byPid: 8206 },
  ],
  [
    'a process waits for another file',
    `${held}${others}3: -> FLOCK  ADVISORY  WRITE 8205 fe:00:770 0 EOF\n`,
    { kind: 'alone' },
  ],
  ['the lock is not shown', others, { kind: 'not-shown' }],
  ['there is no lock at all', '', { kind: 'not-shown' }],
])('%s', (_, locks, contention) => expect(lockContention(locks, 'fe:00:77')).toEqual(contention));

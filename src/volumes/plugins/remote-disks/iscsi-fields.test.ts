/** Which fields of iSCSI volumes are refused before anything is done with them. */
import { describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../../host/index.js';
import { iqn, iscsi, kubelet } from './test-kubelet.js';
import { TestSan } from './test-san.js';

describe('fields that make no sense', () => {
  const { plugin } = kubelet(new TestSan(new SimulatedMachine()));
  const rows: [rule: string, fields: object, text: string][] = [
    ['an IQN with slashes', { iqn: 'iqn.2001-04.com.example:a/../../b' }, 'iscsi.iqn'],
    ['an IQN with dots that lead up', { iqn: 'iqn.2001-04.com.example:..' }, 'iscsi.iqn'],
    ['an IQN that is an option', { iqn: '--help' }, 'iscsi.iqn'],
    ['an IQN that is no name', { iqn: 'disk' }, 'iscsi.iqn'],
    ['an IQN with a line break', { iqn: `${iqn}\n` }, 'iscsi.iqn'],
    ['an IQN that is too long', { iqn: `${iqn}${'a'.repeat(300)}` }, 'iscsi.iqn'],
    ['an IQN that is no text', { iqn: 7 }, 'iscsi.iqn is no text'],
    ['a portal that is an option', { targetPortal: '-o x' }, 'iscsi.targetPortal'],
    ['a portal with a blank', { targetPortal: '10.0.0.1 -o new' }, 'iscsi.targetPortal'],
    ['a portal with a path', { targetPortal: '../../x:1' }, 'iscsi.targetPortal'],
    ['a portal with a large port', { targetPortal: '10.0.0.1:65536' }, 'iscsi.targetPortal'],
    ['a portal without an address', { targetPortal: ':3260' }, 'iscsi.targetPortal'],
    ['another portal', { portals: ['10.0.0.2', '-o x'] }, 'iscsi.portals[1]'],
    ['too many portals', { portals: Array(17).fill('10.0.0.1') }, 'more than 16'],
    ['a number below the range', { lun: -1 }, 'iscsi.lun'],
    ['a number above the range', { lun: 256 }, 'iscsi.lun'],
    ['a number that is none', { lun: '0/../1' }, 'iscsi.lun'],
    ['a number with a fraction', { lun: 0.5 }, 'iscsi.lun'],
    ['an interface with a path', { iscsiInterface: '../default' }, 'iscsi.iscsiInterface'],
    ['an interface that is an option', { iscsiInterface: '-x' }, 'iscsi.iscsiInterface'],
    ['an initiator that is no name', { initiatorName: 'me' }, 'iscsi.initiatorName'],
    ['a file system with a path', { fsType: '../../sh' }, 'iscsi.fsType'],
    ['CHAP without a secret', { chapAuthSession: true }, 'iscsi.secretRef'],
  ];
  it.each(rows)('%s', (_, fields, text) => {
    expect(plugin.problem?.(iscsi(fields))).toContain(text);
  });

  it.each([
    ['a name of three parts', { iqn: 'eui.02004567A425678D' }],
    ['an IPv6 portal', { targetPortal: '[fd00::1]:3260' }],
    ['an IPv6 address', { targetPortal: 'fd00::1' }],
    ['a number at its limit', { lun: 255 }],
    ['an interface of an adapter', { iscsiInterface: 'bnx2i.00:05:b5:d2:a0:c2' }],
  ])('%s is fine', (_, fields) => expect(plugin.problem?.(iscsi(fields))).toBeUndefined());

  it('a volume whose name is a path', () =>
    expect(plugin.problem?.(iscsi({}, false, '..'))).toContain('cannot be the name of a directory'));
});

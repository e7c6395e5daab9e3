import { describe, expect, it } from 'vitest';
import { chooseRuntime, type RuntimeCandidates, type SocketState } from './runtime-choice.js';

const containerd = (state: SocketState) => ({
  name: 'containerd',
  path: '/run/containerd/containerd.sock',
  state,
});
const crio = (state: SocketState) => ({ name: 'CRI-O', path: '/run/crio/crio.sock', state });
const bare: RuntimeCandidates = {
  wanted: 'auto',
  endpoint: undefined,
  platform: 'linux',
  isRoot: true,
  missingInUserNamespace: [],
  sockets: [containerd('absent'), crio('absent')],
  missingPrograms: [],
  missingNetworkPackages: [],
};
const without = { missingPrograms: ['containerd', 'runc'] };

describe('chooseRuntime', () => {
  it.each<[string, Partial<RuntimeCandidates>, string, RegExp]>([
    [
      'a given endpoint wins',
      { endpoint: 'unix:///x.sock', sockets: [containerd('ready')] },
      'endpoint unix:///x.sock',
      /as you asked/,
    ],
    [
      'an endpoint together with --runtime',
      { endpoint: 'unix:///x.sock', wanted: 'process' },
      'impossible',
      /exclude each other/,
    ],
    [
      'a running containerd',
      { sockets: [containerd('ready'), crio('ready')] },
      'endpoint unix:///run/containerd/containerd.sock',
      /containerd, which runs on this machine/,
    ],
    [
      'a running CRI-O',
      { sockets: [containerd('silent'), crio('ready')] },
      'endpoint unix:///run/crio/crio.sock',
      /CRI-O/,
    ],
    [
      'does not use a containerd of another agent',
      { sockets: [containerd('taken'), crio('absent')] },
      'containerd',
      /belongs to another node agent/,
    ],
    [
      "Docker's containerd has no CRI",
      { sockets: [containerd('no-cri'), crio('absent')] },
      'containerd',
      /CRI plugin switched off/,
    ],
    [
      'nothing runs, root, all installed',
      {},
      'containerd',
      /^runtime: a containerd of its own, as no container runtime runs here$/,
    ],
    [
      'no network plugins',
      { missingNetworkPackages: ['containernetworking-plugins'] },
      'containerd hostNetwork',
      /share the machine's network: install containernetworking-plugins to give each its own address$/,
    ],
    [
      'network plugins without iptables',
      { missingNetworkPackages: ['iptables'] },
      'containerd hostNetwork',
      /install iptables to give/,
    ],
    [
      'neither network plugins nor iptables',
      { missingNetworkPackages: ['containernetworking-plugins', 'iptables'] },
      'containerd hostNetwork',
      /install containernetworking-plugins, iptables to give/,
    ],
    [
      'root without containerd',
      without,
      'process',
      /containerd and runc are not installed; for real containers, install containerd, runc/,
    ],
    ['root without one program', { missingPrograms: ['runc'] }, 'process', /runc is not installed/],
    ['ctr comes with containerd', { missingPrograms: ['ctr'] }, 'process', /install containerd$/],
    [
      'names a package once when several of its programs are missing',
      { missingPrograms: ['containerd', 'runc', 'ctr'] },
      'process',
      /and containerd, runc and ctr are not installed; for real containers, install containerd, runc$/,
    ],
    [
      'not root, containerd installed',
      { isRoot: false },
      'process',
      /only root can start a containerd; for real containers, run it as root$/,
    ],
    [
      'not root, a running containerd',
      { isRoot: false, sockets: [containerd('denied'), crio('absent')] },
      'process',
      /cannot open \/run\/containerd\/containerd.sock; for real containers, run it as root/,
    ],
    [
      'not root, nothing installed',
      { isRoot: false, ...without },
      'process',
      /install containerd, runc, and run it as root$/,
    ],
    [
      'root of a user namespace without rights',
      { missingInUserNamespace: ['a cgroup that it may write', 'a network namespace of its own'] },
      'process',
      /and this user namespace lacks a cgroup that it may write and a network namespace of its own; for real containers, run it as root outside of the user namespace$/,
    ],
    [
      'a private containerd in a user namespace without rights',
      { wanted: 'containerd', missingInUserNamespace: ['a network namespace of its own'] },
      'impossible',
      /lacks a network namespace of its own: run it as root outside/,
    ],
    ['macOS', { platform: 'darwin', isRoot: false }, 'process', /containers need Linux/],
    [
      'processes on request',
      { wanted: 'process', sockets: [containerd('ready')] },
      'process',
      /as you asked/,
    ],
    [
      'a private containerd on request',
      { wanted: 'containerd', sockets: [containerd('ready')] },
      'containerd',
      /own, as you asked/,
    ],
    [
      'a private containerd without its programs',
      { wanted: 'containerd', ...without },
      'impossible',
      /containerd and runc are not installed: install/,
    ],
    ['a private containerd without root', { wanted: 'containerd', isRoot: false }, 'impossible', /only root/],
    [
      'a private containerd on macOS',
      { wanted: 'containerd', platform: 'darwin' },
      'impossible',
      /need Linux/,
    ],
  ])('%s', (_rule, facts, kind, words) => {
    const choice = chooseRuntime({ ...bare, ...facts });
    const detail =
      choice.kind === 'endpoint'
        ? ` ${choice.endpoint}`
        : choice.kind === 'containerd' && !choice.podNetwork
          ? ' hostNetwork'
          : '';
    expect(choice.kind + detail).toBe(kind);
    expect(choice.kind === 'impossible' ? choice.message : choice.line).toMatch(words);
  });
});

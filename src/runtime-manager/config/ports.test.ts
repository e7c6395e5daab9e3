import { describe, expect, it } from 'vitest';
import { Protocol } from '../../cri/index.js';
import type { ContainerPort } from '../../kube/index.js';
import { portMappings } from './ports.js';

describe('portMappings', () => {
  const tcp = (containerPort: number, hostPort = 0, hostIp = '') => ({
    protocol: Protocol.TCP,
    containerPort,
    hostPort,
    hostIp,
  });
  const rows: [rule: string, containers: ContainerPort[][], expected: object[]][] = [
    ['ports without a host port count', [[{ containerPort: 80 }]], [tcp(80)]],
    [
      'a name twice in a container counts once',
      [
        [
          { name: 'a', containerPort: 80 },
          { name: 'a', containerPort: 81 },
        ],
      ],
      [tcp(80)],
    ],
    [
      'a name in two containers counts twice',
      [[{ name: 'a', containerPort: 80 }], [{ name: 'a', containerPort: 81 }]],
      [tcp(80), tcp(81)],
    ],
    ['equal unnamed ports count once', [[{ containerPort: 80 }, { containerPort: 80 }]], [tcp(80)]],
    [
      'another host address is another port',
      [
        [
          { containerPort: 80, hostPort: 80, hostIP: '1.1.1.1' },
          { containerPort: 80, hostPort: 80, hostIP: '::1' },
        ],
      ],
      [tcp(80, 80, '1.1.1.1'), tcp(80, 80, '::1')],
    ],
    [
      'protocols',
      [
        [
          { containerPort: 1, protocol: 'UDP' },
          { containerPort: 1, protocol: 'SCTP' },
          { containerPort: 1, protocol: 'odd' },
        ],
      ],
      [{ ...tcp(1), protocol: Protocol.UDP }, { ...tcp(1), protocol: Protocol.SCTP }, tcp(1)],
    ],
  ];
  it.each(rows)('%s', (_rule, containers, expected) => {
    const spec = {
      containers: containers.map((ports, index) => ({ name: `c${index}`, ports })),
      initContainers: [{ name: 'init', ports: [{ containerPort: 9 }] }],
    };
    expect(portMappings({ metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec })).toEqual(expected);
  });
});

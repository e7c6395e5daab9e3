/** The CNI configuration of a pod network: a bridge on this machine, with host ports. */

export interface PodNetwork {
  /** Also in the comments of the packet rules made for it. */
  readonly networkName: string;
  /** At most 15 bytes. */
  readonly bridge: string;
  readonly subnet: string;
  /** Where addresses given to pods are noted. */
  readonly cniDataDir: string;
  /** Whether the plugin lets each pod out by rules of its own. Default: no; one rule may do it for all. */
  readonly masqueradePods?: boolean;
}

export function podNetworkConfiguration({
  networkName,
  bridge,
  subnet,
  cniDataDir,
  masqueradePods = false,
}: PodNetwork): object {
  return {
    cniVersion: '1.0.0',
    name: networkName,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: masqueradePods,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: cniDataDir,
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

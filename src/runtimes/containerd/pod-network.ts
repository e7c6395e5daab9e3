/** The CNI configuration of a pod network: a bridge on this machine, with host ports. */

export interface PodNetwork {
  /** Also in the comments of the network's packet rules. */
  readonly networkName: string;
  /** At most 15 bytes. */
  readonly bridge: string;
  readonly subnet: string;
  /** Where the plugin keeps the pods' addresses. */
  readonly cniDataDir: string;
  /** Whether the plugin adds masquerade rules for each pod. Default: no; one rule can serve them all. */
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

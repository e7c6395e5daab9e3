/** Writes the kubeconfig of a node that obtained its own certificate. */
import type { ClusterEndpoint } from '../../kube-client/index.js';

/** The text of the file; certificate and key are in one PEM file, replaced together. */
export function kubeconfigText(endpoint: ClusterEndpoint, pemFile: string): string {
  const { server, certificateAuthority, insecureSkipTlsVerify, tlsServerName } = endpoint;
  const quoted = (text: string): string => JSON.stringify(text);
  const authority =
    certificateAuthority === undefined
      ? []
      : certificateAuthority.kind === 'file'
        ? [`certificate-authority: ${quoted(certificateAuthority.path)}`]
        : [`certificate-authority-data: ${Buffer.from(certificateAuthority.pem).toString('base64')}`];
  const cluster = [
    ...authority,
    ...(insecureSkipTlsVerify ? ['insecure-skip-tls-verify: true'] : []),
    `server: ${quoted(server.href.replace(/\/$/, ''))}`,
    ...(tlsServerName === undefined ? [] : [`tls-server-name: ${quoted(tlsServerName)}`]),
  ];
  return [
    'apiVersion: v1',
    'clusters:',
    '- cluster:',
    ...cluster.map((line) => `    ${line}`),
    '  name: default-cluster',
    'contexts:',
    '- context:',
    '    cluster: default-cluster',
    '    namespace: default',
    '    user: default-auth',
    '  name: default-context',
    'current-context: default-context',
    'kind: Config',
    'preferences: {}',
    'users:',
    '- name: default-auth',
    '  user:',
    `    client-certificate: ${quoted(pemFile)}`,
    `    client-key: ${quoted(pemFile)}`,
    '',
  ].join('\n');
}

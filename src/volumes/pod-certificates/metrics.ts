/** Counts the certificates of pods by signer and state. */
import type { Registry } from '../../metrics/index.js';

export function registerPodCertificateStates(
  registry: Registry,
  states: () => readonly { readonly signerName: string; readonly state: string }[],
): void {
  const counts = registry.gauge(
    'kubelet_podcertificate_states',
    'podCertificate sources of projected volumes by signer and state.',
    ['signer_name', 'state'],
  );
  let shown: readonly { readonly signer_name: string; readonly state: string }[] = [];
  registry.onCollect(() => {
    // Signers come from pods: those that no pod names any more must not pile up.
    for (const labels of shown) counts.remove(labels);
    shown = states().map(({ signerName, state }) => ({ signer_name: signerName, state }));
    for (const labels of shown) counts.inc(labels);
  });
}

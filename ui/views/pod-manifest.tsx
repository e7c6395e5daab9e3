/** The pod as the node has it, as YAML. */
import { yamlText } from '../../src/kube-api/files/yaml-writer.js';
import { Scroll } from '../parts/scroll.js';
import type { PodProps } from './pod.js';
import { usePodVersion } from './pod-overview.js';

export function PodManifest({ node, uid }: PodProps) {
  usePodVersion(node, uid);
  const pod = node.pod(uid)?.pod;
  return (
    <section class="sheet" aria-label="Manifest">
      <Scroll pre label="Manifest of the pod">
        {yamlText(pod)}
      </Scroll>
    </section>
  );
}

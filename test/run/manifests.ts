/** Pods for tests of the command line; they need nothing but a shell. */

export interface PodOptions {
  readonly script: string;
  readonly policy?: 'Always' | 'OnFailure' | 'Never';
  readonly graceSeconds?: number;
  readonly image?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

export function podManifest(name: string, options: PodOptions): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: options.policy ?? 'Always',
      terminationGracePeriodSeconds: options.graceSeconds ?? 5,
      ...(options.nodeSelector && { nodeSelector: options.nodeSelector }),
      containers: [
        {
          name: 'app',
          image: options.image ?? 'nodelet.local/host:1',
          command: ['sh', '-c', options.script],
          ...(options.requests && { resources: { requests: options.requests } }),
        },
      ],
    },
  });
}

/** Several in one text. */
export function documents(...manifests: readonly string[]): string {
  return manifests.join('\n---\n');
}

/** Runs until it is asked to stop. */
export const runsOn = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done";
/** Runs until it is killed. */
export const stubborn = "trap '' TERM; echo up; while :; do sleep 0.1; done";

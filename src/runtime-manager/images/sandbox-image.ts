/** Finds the images of sandboxes: no container uses them, and not every runtime reports them as pinned. */
import { type CriRuntime, type Image, isNotFound, newestFirst, PodSandboxState } from '../../cri/index.js';

export type SandboxImageRuntime = Pick<
  CriRuntime,
  'status' | 'listPodSandbox' | 'podSandboxStatus' | 'imageStatus'
>;

/**
 * The ids of those of `images` that new sandboxes need. The runtime's configuration tells, else the ready
 * sandboxes; failing both, any image named like a sandbox image counts as one: keeping a small image too many
 * costs nothing, a missing one keeps every new pod from starting.
 */
export async function sandboxImageIds(
  cri: SandboxImageRuntime,
  images: readonly Image[],
): Promise<ReadonlySet<string>> {
  const { info } = await cri.status({ verbose: true });
  const configured = configuredSandboxImage(info);
  const names = configured === undefined ? await imagesOfSandboxes(cri) : new Set([configured]);
  if (names.size === 0) return new Set(images.filter(isNamedLikeSandboxImage).map(({ id }) => id));
  const ids = new Set<string>();
  for (const name of names) {
    const { image } = await cri.imageStatus({ image: { image: name } });
    if (image !== undefined) ids.add(image.id);
  }
  return ids;
}

/** The image name from containerd's configuration, in its verbose status. */
export function configuredSandboxImage(info: Readonly<Record<string, string>>): string | undefined {
  return textField(info.config, 'sandboxImage');
}

/** The image name in the verbose status of a containerd sandbox. */
export function imageOfSandbox(info: Readonly<Record<string, string>>): string | undefined {
  return textField(info.info, 'image');
}

/**
 * Whether the last part of one of the image's names contains `pause`, as in `example.com/pause:3.10` or
 * `mirrored-pause`.
 */
export function isNamedLikeSandboxImage({
  repoTags,
  repoDigests,
}: Pick<Image, 'repoTags' | 'repoDigests'>): boolean {
  return [...repoTags, ...repoDigests].some((name) =>
    /(?:^|[/-])pause(?:-[^/:@]*)?(?:[:@][^/]*)?$/.test(name),
  );
}

/** Asks the newest ready sandbox of each runtime handler, as each handler may have its own image. */
async function imagesOfSandboxes(cri: SandboxImageRuntime): Promise<ReadonlySet<string>> {
  const { items } = await cri.listPodSandbox({
    filter: { state: { state: PodSandboxState.SANDBOX_READY } },
  });
  const newest = new Map<string, string>();
  for (const { id, runtimeHandler } of items
    .map(({ id, createdAt, runtimeHandler }) => ({ id, createdAtNs: createdAt, runtimeHandler }))
    .sort(newestFirst)) {
    if (!newest.has(runtimeHandler)) newest.set(runtimeHandler, id);
  }
  const names = new Set<string>();
  for (const id of newest.values()) {
    const status = await cri.podSandboxStatus({ podSandboxId: id, verbose: true }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const name = imageOfSandbox(status?.info ?? {});
    if (name !== undefined) names.add(name);
  }
  return names;
}

/** Runtimes choose what is in their verbose responses; anything unexpected counts as absent. */
function textField(json: string | undefined, field: string): string | undefined {
  if (json === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const value = Object.entries(parsed).find(([name]) => name === field)?.[1];
    return typeof value === 'string' && value !== '' ? value : undefined;
  } catch {
    return undefined;
  }
}

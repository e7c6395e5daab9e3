/** Decides whether to pull an image before a container starts, and how to report a failed pull. */
import { failureMark } from '../../cri/index.js';

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

export type PullDecision =
  | { readonly action: 'pull'; readonly because: string }
  | { readonly action: 'use'; readonly because: string }
  | { readonly action: 'refuse'; readonly because: string };

/** An unset or unknown policy means IfNotPresent. */
export function pullPolicyOf(text: string | undefined): PullPolicy {
  return text === 'Always' || text === 'Never' ? text : 'IfNotPresent';
}

/**
 * `isPresent` matters for every policy but Always. `mayUse`: whether the pod may use a present image without
 * presenting its credentials to the registry.
 */
export function decidePull(policy: PullPolicy, isPresent: boolean, mayUse = true): PullDecision {
  switch (policy) {
    case 'Always':
      return { action: 'pull', because: 'the pull policy is Always' };
    case 'IfNotPresent':
      if (!isPresent) return { action: 'pull', because: 'the image is not on the machine' };
      return mayUse
        ? { action: 'use', because: 'the image is on the machine' }
        : { action: 'pull', because: 'the pod has yet to prove its access to the image on the machine' };
    case 'Never':
      // A pod that may not use the image must not learn whether it is present.
      return isPresent && mayUse
        ? { action: 'use', because: 'the image is on the machine' }
        : {
            action: 'refuse',
            because: 'the pull policy is Never and there is no image that the pod may use',
          };
  }
}

export type PullFailureReason = 'RegistryUnavailable' | 'SignatureValidationFailed' | 'ErrImagePull';

const markedFailures: Readonly<Record<Exclude<PullFailureReason, 'ErrImagePull'>, string>> = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
};

/** The reason and message that users see for a failed pull. */
export function explainPullError(
  image: string,
  text: string,
): { readonly reason: PullFailureReason; readonly message: string } {
  const reason = failureMark(text);
  if (reason !== 'RegistryUnavailable' && reason !== 'SignatureValidationFailed') {
    return { reason: 'ErrImagePull', message: text };
  }
  const rest = text.slice(reason.length);
  return { reason, message: `image pull failed for ${image} because ${markedFailures[reason]}${rest}` };
}

/** Validates the users that are to own the files of a volume. */
import type { Volume, VolumeProjection } from '../../types/volume.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { largestId } from './security.js';

export function validateFileOwners(volume: Volume, field: LazyFieldPath, errors: FieldErrors): void {
  const owner = (at: LazyFieldPath, user: number | undefined): void => errors.inRange(at, user, 0, largestId);
  const items = (at: LazyFieldPath, list: readonly { readonly user?: number }[] | undefined): void => {
    for (const [index, { user }] of (list ?? []).entries())
      owner(at.child('items').child(index).child('user'), user);
  };
  for (const kind of ['secret', 'configMap', 'downwardAPI'] as const) {
    owner(field.child(kind).child('defaultUser'), volume[kind]?.defaultUser);
    items(field.child(kind), volume[kind]?.items);
  }
  const { projected } = volume;
  owner(field.child('projected').child('defaultUser'), projected?.defaultUser);
  for (const [index, source] of (projected?.sources ?? []).entries())
    validateSourceOwners(source, field.child('projected').child('sources').child(index), owner, items);
}

function validateSourceOwners(
  source: VolumeProjection,
  field: LazyFieldPath,
  owner: (at: LazyFieldPath, user: number | undefined) => void,
  items: (at: LazyFieldPath, list: readonly { readonly user?: number }[] | undefined) => void,
): void {
  for (const kind of ['secret', 'configMap', 'downwardAPI'] as const)
    items(field.child(kind), source[kind]?.items);
  for (const kind of ['serviceAccountToken', 'clusterTrustBundle', 'podCertificate'] as const)
    owner(field.child(kind).child('user'), source[kind]?.user);
}

/** Reads the user of an image from its status. */
import type { Image } from '../../cri/index.js';
import type { ImageUser } from '../contracts.js';

export function imageUserOf(image: Image | undefined): ImageUser {
  return image?.uid === undefined ? { username: image?.username ?? '' } : { uid: image.uid.value };
}

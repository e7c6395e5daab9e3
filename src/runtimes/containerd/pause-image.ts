/** The image of pod sandboxes, built here, so that none has to be pulled. */
import { buildImage, type OciImage } from './oci.js';
import { isPauseArchitecture, pauseProgram } from './pause-program.js';

/** An unreachable host: the image is never pulled. */
export const pauseImageName = 'nodelet.local/pause:1';

export function buildPauseImage(): OciImage {
  const { arch } = process;
  if (!isPauseArchitecture(arch))
    throw new Error(`there is no sandbox program for this processor (${arch}): use --runtime process`);
  return buildImage({
    name: pauseImageName,
    layers: [[{ type: 'file', path: 'pause', content: pauseProgram(arch), mode: 0o755 }]],
    config: { entrypoint: ['/pause'] },
  });
}

/** Decides whether the fields of a volume make sense, before anything is done with them. */
import { goQuote } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { adminMountOptions } from '../plugins/admin-mount-options.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { csiLimits } from './limits.js';
import { csiVolumeOf, isDriverName } from './names.js';
import { attributesOf, fsTypeOf } from './requests.js';

/** Drivers pass it on to programs such as `mount` and `mkfs`. */
const plainFsType = /^[A-Za-z0-9][-A-Za-z0-9._+]*$/;
// The point is to find control characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const controlCharacter = /[\u0000-\u001f\u007f]/;

export function hasControlCharacter(text: string): boolean {
  return controlCharacter.test(text);
}

/** What is wrong, with the name of the field; undefined if nothing is. */
export function volumeProblem(spec: VolumeSpec): string | undefined {
  const { driver, handle } = csiVolumeOf(spec, '');
  if (!isDriverName(driver)) return `csi.driver ${quoted(driver)} is no name of a CSI driver`;
  return (
    directoryProblem(innerNameOf(spec)) ??
    handleProblem(handle) ??
    fsTypeProblem(fsTypeOf(spec)) ??
    sizeProblem('spec.mountOptions', [...adminMountOptions(spec)], csiLimits.mountOptionsBytes) ??
    sizeProblem('csi.volumeAttributes', Object.entries(attributesOf(spec)).flat(), csiLimits.attributesBytes)
  );
}

/** It becomes the name of a directory. */
function directoryProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..' || hasControlCharacter(name)) {
    return `metadata.name ${quoted(name)} cannot be the name of a directory`;
  }
  return undefined;
}

function handleProblem(handle: string): string | undefined {
  if (handle === '') return 'csi.volumeHandle is empty';
  if (Buffer.byteLength(handle) > csiLimits.volumeHandleBytes) {
    return `csi.volumeHandle is longer than ${csiLimits.volumeHandleBytes} bytes`;
  }
  return hasControlCharacter(handle)
    ? `csi.volumeHandle ${quoted(handle)} has control characters`
    : undefined;
}

function fsTypeProblem(fsType: string): string | undefined {
  if (fsType.length > csiLimits.fsTypeChars) {
    return `csi.fsType is longer than ${csiLimits.fsTypeChars} characters`;
  }
  return fsType === '' || plainFsType.test(fsType)
    ? undefined
    : `csi.fsType ${quoted(fsType)} is no name of a file system`;
}

function sizeProblem(field: string, texts: readonly string[], limitBytes: number): string | undefined {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return bytes > limitBytes ? `${field} has more than ${limitBytes} bytes` : undefined;
}

/** Short enough for an event. */
function quoted(text: string): string {
  return goQuote(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

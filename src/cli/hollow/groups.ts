/** The groups of nodes that flags and a file of profiles ask for. */
import { readFile } from 'node:fs/promises';
import { errorText } from '../../async/index.js';
import {
  defaultProfile,
  type NodeGroup,
  type NodeProfile,
  ProfileFileError,
  ProfileProblem,
  profileKeys,
  profileReaders,
  readProfiles,
  templateProblem,
} from '../../hollow/index.js';
import { UsageError } from '../client/usage-error.js';
import { labelsOf, type ProfileFlagValues } from './options.js';

const flagOf = {
  cpu: 'cpu',
  memory: 'memory',
  ephemeralStorage: 'ephemeral-storage',
  pods: 'pods',
  architecture: 'architecture',
} as const;

/** The fields that flags give, as a file of profiles has them; nothing is checked. */
export function fieldsOfFlags(values: ProfileFlagValues): Record<string, unknown> {
  const given = Object.entries(flagOf).flatMap(([field, flag]) =>
    values[flag] === undefined ? [] : [[field, values[flag]] as const],
  );
  return {
    ...Object.fromEntries(given),
    ...(values.labels.length === 0 ? {} : { labels: labelsOf(values.labels) }),
    ...(values.taints.length === 0 ? {} : { taints: values.taints.flatMap(taintsOf) }),
  };
}

/** What nodes are where nothing else is said. Throws a UsageError that names the flag. */
export function profileOfFlags(values: ProfileFlagValues): NodeProfile {
  const profile: Partial<Record<keyof NodeProfile, unknown>> = {};
  for (const [field, value] of Object.entries(fieldsOfFlags(values))) {
    // The fields are those of the table above.
    const name = field as keyof typeof profileReaders;
    try {
      profile[profileKeys[name]] = profileReaders[name](value);
    } catch (error) {
      if (!(error instanceof ProfileProblem)) throw error;
      const flag = field in flagOf ? flagOf[field as keyof typeof flagOf] : field;
      throw new UsageError(`--${flag}: ${error.message}`, { cause: error });
    }
  }
  // Each value was made by the reader of its field.
  return { ...defaultProfile, ...(profile as Partial<NodeProfile>) };
}

/** Throws a UsageError when both are given, or the names would be none. */
export function nameTemplateOf(values: ProfileFlagValues): string {
  const { 'name-prefix': prefix, 'node-name-template': template } = values;
  if (prefix !== undefined && template !== undefined)
    throw new UsageError('write --name-prefix or --node-name-template, not both');
  const names = template ?? `${prefix ?? 'hollow-'}{index}`;
  const problem = templateProblem(names);
  if (problem === undefined) return names;
  const flag = template === undefined ? `--name-prefix ${prefix}` : `--node-name-template ${template}`;
  throw new UsageError(`${flag}: ${problem}`);
}

/** Throws a UsageError with a line for every problem of the file. */
export async function groupsOf(
  count: number | undefined,
  { profiles: file }: ProfileFlagValues,
): Promise<readonly NodeGroup[]> {
  if (file === undefined) return [{ count: count ?? 1, nameTemplate: undefined, profile: {} }];
  const text = await readProfileFile(file);
  try {
    return readProfiles(text, file);
  } catch (error) {
    if (error instanceof ProfileFileError) throw new UsageError(error.message, { cause: error });
    throw new UsageError(`--profiles: ${errorText(error)}`, { cause: error });
  }
}

export async function readProfileFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--profiles ${file}: ${errorText(error)}`, { cause: error });
  }
}

/** `key=value:Effect`, separated by commas. What is wrong with one is told by its reader. */
function taintsOf(text: string): Record<string, string>[] {
  return text.split(',').map((part) => {
    const colon = part.lastIndexOf(':');
    const [key = '', value = ''] = (colon < 0 ? part : part.slice(0, colon)).split('=');
    return { key, value, effect: colon < 0 ? '' : part.slice(colon + 1) };
  });
}

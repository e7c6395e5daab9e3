/** Reads a file of node profiles: groups of nodes that differ, with every problem at its file, line and field. */
import { nearestName } from '../../flags/index.js';
import { formatFieldPath, parseSource, type SourceDocument } from '../../kube/index.js';
import { hollowLimits } from '../limits.js';
import type { NodeProfile } from '../node/profile.js';
import { templateProblem } from './node-names.js';
import {
  amount,
  isMapping,
  type ProfileField,
  ProfileProblem,
  profileKeys,
  profileReaders,
  shown,
} from './profile-fields.js';

/** So many nodes of one kind. */
export interface NodeGroup {
  readonly count: number;
  /** With `{index}` once; undefined: that of the command line. */
  readonly nameTemplate: string | undefined;
  readonly profile: Partial<NodeProfile>;
}

/** The file cannot be used; the message has a line for every problem. */
export class ProfileFileError extends Error {
  override readonly name = 'ProfileFileError';
}

const mostProblems = 20;
const fieldNames = [...Object.keys(profileReaders), 'count', 'name'];

/** Throws ProfileFileError, or the parser's own error for what is no YAML. */
export function readProfiles(text: string, file: string): NodeGroup[] {
  if (Buffer.byteLength(text) > hollowLimits.profileFileBytes)
    throw new ProfileFileError(`${file}: is larger than ${hollowLimits.profileFileBytes} bytes`);
  const [document, second] = parseSource(text, file);
  if (document === undefined) throw new ProfileFileError(`${file}: has no nodes; write "nodes:" and a list`);
  const reader = new ProfileReader(document);
  if (second !== undefined) reader.problem([], 'one document is enough: remove what follows "---"');
  const groups = reader.groups();
  reader.refuse();
  return groups;
}

class ProfileReader {
  readonly #document: SourceDocument;
  readonly #problems: string[] = [];

  constructor(document: SourceDocument) {
    this.#document = document;
    for (const { key, line } of document.duplicateKeys)
      this.#problems.push(`${document.file}:${line}: ${key} is there twice`);
  }

  groups(): NodeGroup[] {
    const { value } = this.#document;
    if (!isMapping(value)) {
      this.problem([], 'the file is no mapping; write "nodes:" and a list');
      return [];
    }
    for (const key of Object.keys(value))
      if (key !== 'nodes') this.problem([key], 'unknown field; the file has only "nodes"');
    const { nodes } = value;
    if (!Array.isArray(nodes) || nodes.length === 0) {
      this.problem(['nodes'], `${shown(nodes)} is not a list of groups of nodes`);
      return [];
    }
    if (nodes.length > hollowLimits.profiles) {
      this.problem(['nodes'], `has ${nodes.length} groups; at most ${hollowLimits.profiles} can be`);
      return [];
    }
    const groups = nodes.map((group: unknown, index) => this.#group(group, ['nodes', index]));
    const count = groups.reduce((sum, group) => sum + group.count, 0);
    if (count > hollowLimits.nodes)
      this.problem(['nodes'], `has ${count} nodes; one process has at most ${hollowLimits.nodes}`);
    return groups;
  }

  #group(group: unknown, at: readonly (string | number)[]): NodeGroup {
    const profile: Partial<Record<keyof NodeProfile, unknown>> = {};
    let count = 1;
    let nameTemplate: string | undefined;
    if (!isMapping(group)) this.problem(at, `${shown(group)} is no group of nodes`);
    else {
      for (const [field, value] of Object.entries(group)) {
        this.#at([...at, field], () => {
          if (field === 'count') count = amount(value, 'a whole number of nodes', hollowLimits.nodes);
          else if (field === 'name') nameTemplate = templateOf(value);
          else if (isProfileField(field)) profile[profileKeys[field]] = profileReaders[field](value);
          else {
            const near = nearestName(field, fieldNames);
            const mean =
              near === undefined ? `the fields are ${fieldNames.join(', ')}` : `did you mean ${near}?`;
            throw new ProfileProblem(`unknown field; ${mean}`);
          }
        });
      }
    }
    // Each value was made by the reader of its field.
    return { count, nameTemplate, profile: profile as Partial<NodeProfile> };
  }

  #at(path: readonly (string | number)[], read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof ProfileProblem)) throw error;
      this.problem([...path, ...error.at], error.message);
    }
  }

  problem(path: readonly (string | number)[], message: string): void {
    const place = this.#document.locate(path);
    const { file } = this.#document;
    const where = place === undefined ? file : `${file}:${place.line}`;
    this.#problems.push(`${where}: ${path.length === 0 ? '' : `${formatFieldPath(path)}: `}${message}`);
  }

  refuse(): void {
    if (this.#problems.length === 0) return;
    const told = this.#problems.slice(0, mostProblems);
    const more = this.#problems.length - told.length;
    throw new ProfileFileError([...told, ...(more > 0 ? [`and ${more} more problems`] : [])].join('\n'));
  }
}

function templateOf(value: unknown): string {
  if (typeof value !== 'string') throw new ProfileProblem(`${shown(value)} is no template of names`);
  const problem = templateProblem(value);
  if (problem !== undefined) throw new ProfileProblem(`${shown(value)} ${problem}`);
  return value;
}

function isProfileField(field: string): field is ProfileField {
  return Object.hasOwn(profileReaders, field);
}

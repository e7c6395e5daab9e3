/** The command line of the conformance run, read into options or into what is wrong with it. */
import { parseArgs } from 'node:util';

export interface ConformanceOptions {
  /** The e2e test program of Kubernetes. */
  readonly e2e: string;
  /** The directory of image archives. */
  readonly images: string;
  readonly focus: string;
  readonly skip?: string;
  /** How many specs run at a time. */
  readonly procs: number;
  /** Against `nodelet up` alone, without a control plane. */
  readonly bare: boolean;
  /** A program that takes the reference kubelet's flags, to run instead of nodelet. */
  readonly kubelet?: string;
  /** Where logs and results are kept. */
  readonly report?: string;
}

export type ConformanceRequest =
  | { readonly kind: 'run'; readonly options: ConformanceOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

const defaultFocus = '\\[NodeConformance\\]';
const defaultProcs = 4;
const maxProcs = 64;

export const usage = `Usage: npm run conformance -- --e2e PATH --images DIR [flags]

Runs Kubernetes' own node conformance specs against a node of nodelet's, in a cluster made for it, or against "nodelet up".

  --e2e PATH      the e2e test program of Kubernetes (e2e.test), of the control plane's version
  --images DIR    a directory of image archives (OCI or docker, *.tar or *.tar.gz), named as the specs name them
  --focus REGEX   specs to run; default ${defaultFocus}
  --skip REGEX    specs to leave out
  --procs N       specs at a time, 1 to ${maxProcs}; default ${defaultProcs}
  --bare          no control plane: one process of "nodelet up" is the node and its API
  --kubelet PATH  run this kubelet instead of nodelet, to compare
  --report DIR    keep the logs of the node and of the specs, and results.json, in DIR
`;

/** `exists` tells whether a path names something. */
export function readArguments(
  argv: readonly string[],
  exists: (path: string) => boolean,
): ConformanceRequest {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    return { kind: 'wrong', problems: [error instanceof Error ? error.message : String(error)] };
  }
  if (values.help === true) return { kind: 'help' };
  const { e2e, images, kubelet, skip, report, focus = defaultFocus, bare = false } = values;
  const problems = [
    ...pathProblems('--e2e', e2e, 'the path of the Kubernetes e2e test program', exists),
    ...pathProblems(
      '--images',
      images,
      'the directory with the archives of the images that the specs run',
      exists,
    ),
    ...(kubelet === undefined ? [] : pathProblems('--kubelet', kubelet, 'the path of a kubelet', exists)),
    ...regexProblems('--focus', focus),
    ...(skip === undefined ? [] : regexProblems('--skip', skip)),
  ];
  const procs = values.procs === undefined ? defaultProcs : Number(values.procs);
  if (!Number.isInteger(procs) || procs < 1 || procs > maxProcs) {
    problems.push(`--procs ${values.procs}: give a whole number from 1 to ${maxProcs}`);
  }
  if (bare && kubelet !== undefined) {
    problems.push('--kubelet: with --bare the API and the kubelet are one process; leave one of the two out');
  }
  if (problems.length > 0 || e2e === undefined || images === undefined) return { kind: 'wrong', problems };
  return {
    kind: 'run',
    options: {
      e2e,
      images,
      focus,
      procs,
      bare,
      ...(skip === undefined ? {} : { skip }),
      ...(kubelet === undefined ? {} : { kubelet }),
      ...(report === undefined ? {} : { report }),
    },
  };
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      e2e: text,
      images: text,
      focus: text,
      skip: text,
      procs: text,
      bare: { type: 'boolean' },
      kubelet: text,
      report: text,
      help: { type: 'boolean' },
    },
  });
  return values;
}

function pathProblems(
  flag: string,
  path: string | undefined,
  what: string,
  exists: (path: string) => boolean,
): string[] {
  if (path === undefined || path === '') return [`${flag} is missing: give ${what}`];
  return exists(path) ? [] : [`${flag} ${path}: not found; give ${what}`];
}

/** The specs' program has Go's syntax, which what people write here shares with ours. */
function regexProblems(flag: string, text: string): string[] {
  try {
    new RegExp(text);
    return [];
  } catch (error) {
    return [`${flag} ${text}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

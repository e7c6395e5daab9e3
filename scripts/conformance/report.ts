/** Reads the JSON report that ginkgo writes: how each spec ended, and a failure's reason in one line. */

export type SpecOutcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

export interface SpecResult {
  /** The texts of its containers and its own, as a focus expression sees them. */
  readonly name: string;
  readonly tookSeconds: number;
  readonly outcome: SpecOutcome;
}

interface Location {
  readonly FileName?: string;
  readonly LineNumber?: number;
}

interface SpecReport {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly ContainerHierarchyLabels?: readonly (readonly string[] | null)[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText?: string;
  readonly LeafNodeLabels?: readonly string[] | null;
  readonly State: string;
  /** In nanoseconds. */
  readonly RunTime?: number;
  readonly Failure?: {
    readonly Message?: string;
    readonly ForwardedPanic?: string;
    readonly Location?: Location;
  };
}

export interface Spec {
  readonly name: string;
  /** Must have the cluster to itself. */
  readonly serial: boolean;
  /** Takes minutes, up to half an hour. */
  readonly slow: boolean;
}

const nanosecondsPerSecond = 1e9;
/** What is kept of a long reason, from its begin and as much from its end. */
const keptReasonLength = 250;

/** The specs that a dry run would run, by name. */
export function readSpecs(reportJson: string): Spec[] {
  return specReports(reportJson)
    .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && State === 'passed')
    .map((report) => {
      const said = labels(report);
      return { name: specName(report), serial: said.includes('Serial'), slow: said.includes('Slow') };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * How the wanted specs ended. Those that the report says nothing of have failed: for the reason that the suite as a
 * whole failed, where it tells one, else for `otherwise`.
 */
export function readResults(
  reportJson: string | undefined,
  wanted: readonly string[],
  otherwise: string,
): SpecResult[] {
  const reports = reportJson === undefined ? [] : specReports(reportJson);
  const specs = new Map(
    reports.filter(({ LeafNodeType }) => LeafNodeType === 'It').map((report) => [specName(report), report]),
  );
  const suite = reports.find(({ LeafNodeType, State }) => LeafNodeType !== 'It' && isFailure(State));
  const unheard = suite === undefined ? otherwise : `${suite.LeafNodeType} failed: ${failureReason(suite)}`;
  return wanted.map((name) => {
    const report = specs.get(name);
    const outcome: SpecOutcome | undefined = report === undefined ? undefined : specOutcome(report);
    return {
      name,
      tookSeconds: (report?.RunTime ?? 0) / nanosecondsPerSecond,
      outcome: outcome ?? { kind: 'failed', reason: unheard },
    };
  });
}

/** `undefined` when it was left out without a word, as the filters do, or an end of the whole suite. */
function specOutcome(report: SpecReport): SpecOutcome | undefined {
  switch (report.State) {
    case 'passed':
      return { kind: 'passed' };
    case 'pending':
      return { kind: 'skipped', reason: 'pending' };
    case 'skipped':
      return report.Failure?.Message ? { kind: 'skipped', reason: failureReason(report) } : undefined;
    default:
      return isFailure(report.State)
        ? { kind: 'failed', reason: failureReason(report) }
        : { kind: 'failed', reason: `ended in the unknown state '${report.State}'` };
  }
}

function isFailure(state: string): boolean {
  return ['failed', 'panicked', 'interrupted', 'aborted', 'timedout'].includes(state);
}

function failureReason({ State, Failure }: SpecReport): string {
  const said = [Failure?.Message, Failure?.ForwardedPanic].filter(
    (text) => text !== undefined && text !== '',
  );
  const message = oneLine(said.join(' ')) || State;
  const { FileName, LineNumber } = Failure?.Location ?? {};
  const file = FileName?.split('/').at(-1);
  const text = State === 'failed' || State === 'skipped' ? message : `${State}: ${message}`;
  return file === undefined || file === '' ? text : `${text} (${file}:${LineNumber ?? 0})`;
}

/** On one line, and not longer than a reader will read: of a long one the middle goes, mostly an object in full. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= 2 * keptReasonLength) return line;
  return `${line.slice(0, keptReasonLength)} … ${line.slice(-keptReasonLength)}`;
}

function specName({ ContainerHierarchyTexts, LeafNodeText }: SpecReport): string {
  return [...(ContainerHierarchyTexts ?? []), LeafNodeText ?? ''].join(' ');
}

function labels({ ContainerHierarchyLabels, LeafNodeLabels }: SpecReport): readonly string[] {
  return [...(ContainerHierarchyLabels ?? []), LeafNodeLabels].flatMap((some) => some ?? []);
}

function specReports(reportJson: string): readonly SpecReport[] {
  const suites: unknown = JSON.parse(reportJson);
  if (!Array.isArray(suites)) throw new Error("the specs' report is not a list of suites");
  // Only fields that are looked at are named, all but the first of them optional.
  return suites.flatMap(
    (suite: { readonly SpecReports?: readonly SpecReport[] | null }) => suite.SpecReports ?? [],
  );
}

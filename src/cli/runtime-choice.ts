/** Decides which container runtime runs the pods, and says why. */

export type WantedRuntime = 'auto' | 'process' | 'containerd';

/** `taken`: another node agent has pods there and would stop ours. */
export type SocketState = 'absent' | 'denied' | 'silent' | 'no-cri' | 'taken' | 'ready';

export interface RuntimeSocket {
  readonly name: string;
  readonly path: string;
  readonly state: SocketState;
}

export interface RuntimeCandidates {
  readonly wanted: WantedRuntime;
  /** The value of `--container-runtime-endpoint`. */
  readonly endpoint: string | undefined;
  readonly platform: NodeJS.Platform;
  readonly isRoot: boolean;
  /** What root of a user namespace lacks to start a containerd; nothing outside of one. */
  readonly missingInUserNamespace: readonly string[];
  /** The well-known sockets, the preferred one first. */
  readonly sockets: readonly RuntimeSocket[];
  /** Missing programs that a private containerd needs. */
  readonly missingPrograms: readonly string[];
  /** Missing packages that a pod network needs. */
  readonly missingNetworkPackages: readonly string[];
}

export type RuntimeChoice =
  | { readonly kind: 'endpoint'; readonly endpoint: string; readonly line: string }
  | { readonly kind: 'containerd'; readonly podNetwork: boolean; readonly line: string }
  | { readonly kind: 'process'; readonly line: string }
  /** The wanted runtime cannot be used. */
  | { readonly kind: 'impossible'; readonly message: string };

export function chooseRuntime(facts: RuntimeCandidates): RuntimeChoice {
  if (facts.endpoint !== undefined) {
    return facts.wanted === 'auto'
      ? endpoint(facts.endpoint, `the container runtime at ${facts.endpoint}, as you asked`)
      : {
          kind: 'impossible',
          message: `--runtime ${facts.wanted} and --container-runtime-endpoint exclude each other: leave one out`,
        };
  }
  switch (facts.wanted) {
    case 'process':
      return process('as you asked', facts.platform === 'linux' ? 'leave out --runtime process' : undefined);
    case 'containerd': {
      const obstacle = privateObstacle(facts);
      if (obstacle === undefined) return privateContainerd(facts, 'as you asked');
      return { kind: 'impossible', message: `--runtime containerd: ${obstacle.problem}: ${obstacle.remedy}` };
    }
    case 'auto':
      return automatic(facts);
  }
}

function automatic(facts: RuntimeCandidates): RuntimeChoice {
  if (facts.platform !== 'linux')
    return process('containers need Linux', 'run nodelet in a Linux virtual machine');
  const ready = facts.sockets.find(({ state }) => state === 'ready');
  if (ready !== undefined)
    return endpoint(`unix://${ready.path}`, `${ready.name}, which runs on this machine (${ready.path})`);
  const passedOver = facts.sockets.find(({ state }) => state !== 'absent');
  const obstacle = privateObstacle(facts);
  const because = passedOver === undefined ? 'no container runtime runs here' : socketProblem(passedOver);
  if (obstacle === undefined) return privateContainerd(facts, `as ${because}`);
  const problem = passedOver?.state === 'denied' ? because : `${because}, and ${obstacle.problem}`;
  return process(problem, obstacle.remedy);
}

function socketProblem({ name, path, state }: RuntimeSocket): string {
  switch (state) {
    case 'denied':
      return `this user cannot open ${path}`;
    case 'silent':
    case 'absent':
    case 'ready':
      return `${name} at ${path} does not respond`;
    case 'no-cri':
      return `${name} at ${path} has its CRI plugin switched off`;
    case 'taken':
      return `${name} at ${path} belongs to another node agent, which would stop these pods`;
  }
}

/** Why nodelet cannot start a containerd, and what to do; undefined when it can. */
function privateObstacle(facts: RuntimeCandidates): { problem: string; remedy: string } | undefined {
  if (facts.platform !== 'linux') return { problem: 'containers need Linux', remedy: 'use a Linux machine' };
  const { missingPrograms: missing } = facts;
  const packages = new Set(missing.map((program) => packageOf(program)));
  const install = `install ${[...packages].join(', ')}`;
  if (!facts.isRoot) {
    return {
      problem: 'only root can start a containerd',
      remedy: missing.length === 0 ? 'run it as root' : `${install}, and run it as root`,
    };
  }
  if (facts.missingInUserNamespace.length > 0) {
    return {
      problem: `this user namespace lacks ${listed(facts.missingInUserNamespace)}`,
      remedy: 'run it as root outside of the user namespace',
    };
  }
  if (missing.length === 0) return undefined;
  const verb = missing.length === 1 ? 'is' : 'are';
  return { problem: `${listed(missing)} ${verb} not installed`, remedy: install };
}

/** `a`, `a and b`, `a, b and c`. */
function listed(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/** The package of a program. */
function packageOf(program: string): string {
  return program === 'ctr' ? 'containerd' : program;
}

function endpoint(address: string, what: string): RuntimeChoice {
  return { kind: 'endpoint', endpoint: address, line: `runtime: ${what}` };
}

function privateContainerd(facts: RuntimeCandidates, because: string): RuntimeChoice {
  const line = `runtime: a containerd of its own, ${because}`;
  const missing = facts.missingNetworkPackages;
  if (missing.length === 0) return { kind: 'containerd', podNetwork: true, line };
  return {
    kind: 'containerd',
    podNetwork: false,
    line: `${line}; pods share the machine's network: install ${missing.join(', ')} to give each its own address`,
  };
}

function process(because: string, better: string | undefined): RuntimeChoice {
  const hint = better === undefined ? '' : `; for real containers, ${better}`;
  return {
    kind: 'process',
    line: `runtime: plain processes of this machine without isolation, as ${because.replace(/^as /, '')}${hint}`,
  };
}

/** Tests the rules of each call by tables. */
import { describe, expect, it } from 'vitest';
import { callRules, operationTypes } from './call-rules.js';
import { socketPathOfEndpoint } from './endpoint.js';
import { CriError, criErrorFromStatus, isDeadlineExceeded, isNotFound } from './errors.js';
import { commandOutcome } from './exec-sync.js';
import {
  ContainerStatusResponse,
  ExecSyncResponse,
  ImageStatusResponse,
  PodSandboxStatusResponse,
  StatusResponse,
  VersionResponse,
} from './gen/cri.js';
import { criMethods } from './runtime.js';

const T = 120_000;

describe('deadlines', () => {
  const cases: [rule: string, actual: number | undefined, expected: number | undefined][] = [
    ['RunPodSandbox has twice the timeout', callRules.runPodSandbox?.timeoutMs?.({}, T), 240_000],
    [
      'StopContainer has the grace period in addition',
      callRules.stopContainer?.timeoutMs?.({ timeout: 30 }, T),
      150_000,
    ],
    ['ExecSync without timeout has none', callRules.execSync?.timeoutMs?.({ timeout: 0 }, T), undefined],
    ['ExecSync has its timeout in addition', callRules.execSync?.timeoutMs?.({ timeout: 5 }, T), 125_000],
    ['PullImage has none', callRules.pullImage?.timeoutMs?.({}, T), undefined],
    ['GetContainerEvents has none', callRules.getContainerEvents?.timeoutMs?.({}, T), undefined],
    [
      'CheckpointContainer has at least the timeout',
      callRules.checkpointContainer?.timeoutMs?.({ timeout: 1 }, T),
      T,
    ],
    [
      'CheckpointContainer has its own timeout if that is longer',
      callRules.checkpointContainer?.timeoutMs?.({ timeout: 600 }, T),
      600_000,
    ],
  ];
  it.each(cases)('%s', (_, actual, expected) => expect(actual).toBe(expected));

  it('every other method has the request timeout', () => {
    const special = Object.entries(callRules).flatMap(([name, rule]) => ('timeoutMs' in rule ? [name] : []));
    expect(special.sort()).toEqual(
      [
        'checkpointContainer',
        'execSync',
        'getContainerEvents',
        'pullImage',
        'runPodSandbox',
        'stopContainer',
      ].sort(),
    );
  });

  it('sends CheckpointContainer with at least the request timeout, and refuses a negative one', () => {
    expect(callRules.checkpointContainer?.prepare?.({ containerId: 'c', timeout: 3 }, T)).toEqual({
      containerId: 'c',
      timeout: 120,
    });
    expect(() => callRules.checkpointContainer?.prepare?.({ timeout: -1 }, T)).toThrow(
      'CheckpointContainer requires the timeout value to be > 0',
    );
  });
});

describe('response checks', () => {
  const sandbox = { id: 's', metadata: { name: 'n', namespace: 'ns', uid: 'u' }, createdAt: 1n };
  const container = { id: 'c', metadata: { name: 'n' }, createdAt: 1n, image: { image: 'i' }, imageRef: 'r' };
  const sandboxProblem = (status?: object) =>
    callRules.podSandboxStatus?.problem?.(PodSandboxStatusResponse.create({ status }), {});
  const containerProblem = (status?: object) =>
    callRules.containerStatus?.problem?.(ContainerStatusResponse.create({ status }), {});
  const imageProblem = (image?: object) =>
    callRules.imageStatus?.problem?.(ImageStatusResponse.create({ image }), { image: { image: 'x' } });
  const version = { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' };
  const versionProblem = (fields: object) => callRules.version?.problem?.(VersionResponse.create(fields), {});
  const statusProblem = (status?: object) =>
    callRules.status?.problem?.(StatusResponse.create({ status }), {});

  const cases: [rule: string, problem: string | undefined, expected: string | undefined][] = [
    ['a complete version is valid', versionProblem(version), undefined],
    [
      'an empty version names all fields',
      versionProblem({}),
      'not all fields are set in VersionResponse (missing Version, RuntimeName, RuntimeApiVersion, RuntimeVersion)',
    ],
    [
      'a version names the missing field',
      versionProblem({ ...version, runtimeName: '' }),
      'not all fields are set in VersionResponse (missing RuntimeName)',
    ],
    ['two conditions are valid', statusProblem({ conditions: [{}, {}] }), undefined],
    ['no status', statusProblem(), 'RuntimeReady or NetworkReady condition are not set'],
    [
      'one condition',
      statusProblem({ conditions: [{}] }),
      'RuntimeReady or NetworkReady condition are not set',
    ],
    [
      'a sandbox id is required',
      callRules.runPodSandbox?.problem?.(
        { podSandboxId: '' },
        { config: { metadata: { name: 'web', attempt: 1 } } },
      ),
      'PodSandboxId is not set for sandbox "name:\\"web\\" attempt:1"',
    ],
    [
      'a container id is required',
      callRules.createContainer?.problem?.(
        { containerId: '' },
        { config: { metadata: { name: 'c', attempt: 0 } } },
      ),
      'ContainerId is not set for container "name:\\"c\\""',
    ],
    ['a complete sandbox status is valid', sandboxProblem(sandbox), undefined],
    ['a sandbox status is required', sandboxProblem(), 'pod sandbox status is nil'],
    ['a sandbox must have an id', sandboxProblem({ ...sandbox, id: '' }), 'status.Id is not set'],
    [
      'a sandbox must have metadata',
      sandboxProblem({ ...sandbox, metadata: undefined }),
      'status.Metadata is not set',
    ],
    [
      'a sandbox must have a uid',
      sandboxProblem({ ...sandbox, metadata: { name: 'n' } }),
      'metadata.Name, metadata.Namespace or metadata.Uid is not in metadata "name:\\"n\\""',
    ],
    [
      'a sandbox must have a creation time',
      sandboxProblem({ ...sandbox, createdAt: 0n }),
      'status.CreatedAt is not set',
    ],
    ['a complete container status is valid', containerProblem(container), undefined],
    ['a container status is required', containerProblem(), 'container status is nil'],
    ['a container must have an id', containerProblem({ ...container, id: '' }), 'status.Id is not set'],
    [
      'a container must have a name',
      containerProblem({ ...container, metadata: {} }),
      'metadata.Name is not in metadata ""',
    ],
    [
      'a container must have a creation time',
      containerProblem({ ...container, createdAt: 0 }),
      'status.CreatedAt is not set',
    ],
    [
      'a container must have an image',
      containerProblem({ ...container, image: {} }),
      'status.Image is not set',
    ],
    [
      'a container must have an image ref',
      containerProblem({ ...container, imageRef: '' }),
      'status.ImageRef is not set',
    ],
    ['an absent image is valid', imageProblem(), undefined],
    ['a complete image is valid', imageProblem({ id: 'i', size: 1 }), undefined],
    ['an image must have a size', imageProblem({ id: 'i' }), 'Id or size of image "x" is not set'],
    ['an image must have an id', imageProblem({ size: 1 }), 'Id or size of image "x" is not set'],
    [
      'a pulled image must have a ref',
      callRules.pullImage?.problem?.({ imageRef: '' }, { image: { image: 'x' } }),
      'imageRef of image "x" is not set',
    ],
    ['exec must have a URL', callRules.exec?.problem?.({ url: '' }, {}), 'URL is not set'],
    ['attach must have a URL', callRules.attach?.problem?.({ url: '' }, {}), 'URL is not set'],
    ['port-forward must have a URL', callRules.portForward?.problem?.({ url: '' }, {}), 'URL is not set'],
  ];
  it.each(cases)('%s', (_, problem, expected) => expect(problem).toBe(expected));
});

describe('errors', () => {
  it('have the text of Go gRPC errors', () => {
    expect(new CriError('NotFound', 'no such thing').message).toBe(
      'rpc error: code = NotFound desc = no such thing',
    );
    expect(criErrorFromStatus(14, 'away')).toMatchObject({
      code: 14,
      codeName: 'Unavailable',
      details: 'away',
    });
    expect(criErrorFromStatus(77, 'odd')).toMatchObject({ codeName: 'Unknown' });
    expect(isNotFound(new Error('NotFound'))).toBe(false);
  });

  it('of PullImage lose the prefix of code Unknown and keep other codes', () => {
    const reword = callRules.pullImage?.reword;
    expect(reword?.(new CriError('Unknown', 'RegistryUnavailable: x'), {}).message).toBe(
      'RegistryUnavailable: x',
    );
    expect(reword?.(new CriError('NotFound', 'x'), {}).message).toBe('rpc error: code = NotFound desc = x');
  });

  it.each([
    [1, '1s'],
    [60, '1m0s'],
    [80, '1m20s'],
    [3600, '1h0m0s'],
  ])('ExecSync says that the command timed out after %d seconds as %s', (timeout, printed) => {
    const met = new CriError('DeadlineExceeded', 'x');
    const error = callRules.execSync?.reword?.(met, { cmd: ['sleep', '9'], timeout });
    expect(error?.message).toBe(`command timed out: "sleep 9" timed out after ${printed}`);
    expect(isDeadlineExceeded(error)).toBe(true);
  });

  it('of a failed command have its exit code; its output is stdout, then stderr', () => {
    const response = ExecSyncResponse.create({
      stdout: Buffer.from('out'),
      stderr: Buffer.from('err'),
      exitCode: 3,
    });
    const { output, error } = commandOutcome(['a', 'b'], response);
    expect(output.toString()).toBe('outerr');
    expect(error).toMatchObject({ exitCode: 3, message: "command 'a b' exited with 3: err" });
    expect(commandOutcome(['a'], ExecSyncResponse.create()).error).toBeUndefined();
  });
});

describe('endpoints', () => {
  it.each([
    ['unix:///run/a.sock', '/run/a.sock'],
    ['/run/a.sock', '/run/a.sock'],
    ['unix:/run/a.sock', '/run/a.sock'],
  ])('%s is the socket %s', (endpoint, path) => expect(socketPathOfEndpoint(endpoint)).toBe(path));

  it.each([
    ['tcp://localhost:1', 'only support unix socket endpoint'],
    ['npipe:////./pipe/x', 'protocol "npipe" not supported'],
    ['', 'does not name a socket'],
    ['run/a.sock', 'does not name a socket'],
  ])('%j is refused', (endpoint, message) => expect(() => socketPathOfEndpoint(endpoint)).toThrow(message));
});

describe('metrics', () => {
  it('names every method in metrics', () => {
    expect(Object.keys(operationTypes).sort()).toEqual(Object.keys(criMethods).sort());
  });
});

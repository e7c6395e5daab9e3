/** Our gRPC client against `@grpc/grpc-js`, with the same codec on both sides: CPU and time of a call. */
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { RuntimeService } from '../src/cri/index.js';
import { GrpcConnection, type Init, type MethodInfo } from '../src/grpc/index.js';
import { CleanupStack, createTempDir } from '../test/env/index.js';
import { atMost, type Bench, type Measure, median, type Target } from './measure.js';
import { startSim } from './sim-process.js';

const rounds = 11;
const callsPerSample = 200;

type Call = () => Promise<unknown>;

export const grpc: Bench = {
  name: 'grpc',
  summary: 'our gRPC client against @grpc/grpc-js: what a call costs',
  async run() {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      const socketPath = join(dir, 'sim.sock');
      const sim = await startSim(socketPath);
      cleanups.defer('a simulated runtime', sim.stop);
      const connection = new GrpcConnection(socketPath);
      cleanups.defer('our client', async () => connection.close());
      const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
      cleanups.defer('their client', async () => client.close());
      const { version } = RuntimeService;
      return await compare(
        () => connection.unary(version, {}),
        () => theirUnary(client, version, {}),
      );
    } finally {
      await cleanups.run();
    }
  },
};

function theirUnary<Request extends object, Response extends object>(
  client: Client,
  { path, request, response }: MethodInfo<Request, Response>,
  message: Init<Request>,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (value: Init<Request>) => request.encode(value),
      (bytes) => response.decode(bytes),
      message,
      (error, answer) => {
        if (answer === undefined) reject(error ?? new Error('no answer'));
        else resolve(answer);
      },
    );
  });
}

interface Cost {
  readonly cpuUs: number;
  readonly timeUs: number;
}

async function compare(ours: Call, theirs: Call): Promise<Measure[]> {
  const samples = { ours: [] as Cost[], theirs: [] as Cost[] };
  // The first round has the code compiled; it is not counted.
  for (let round = -1; round < rounds; round++) {
    const [our, their] = [await cost(ours), await cost(theirs)];
    if (round < 0) continue;
    samples.ours.push(our);
    samples.theirs.push(their);
  }
  return [
    ratio('CPU of a call in the client: ours / theirs', samples, ({ cpuUs }) => cpuUs, atMost(0.7)),
    ratio('time of a call, one after the other: ours / theirs', samples, ({ timeUs }) => timeUs),
  ];
}

async function cost(call: Call): Promise<Cost> {
  const startMs = performance.now();
  const before = process.cpuUsage();
  for (let made = 0; made < callsPerSample; made++) await call();
  const { user, system } = process.cpuUsage(before);
  return {
    cpuUs: (user + system) / callsPerSample,
    timeUs: ((performance.now() - startMs) * 1000) / callsPerSample,
  };
}

function ratio(
  name: string,
  samples: { readonly ours: readonly Cost[]; readonly theirs: readonly Cost[] },
  of: (cost: Cost) => number,
  target?: Target,
): Measure {
  const compared = {
    unit: 'µs',
    ours: median(samples.ours.map(of)),
    theirs: median(samples.theirs.map(of)),
  } as const;
  return {
    name,
    unit: 'ratio',
    value: compared.ours / compared.theirs,
    samples: samples.ours.map((our, round) => of(our) / of(samples.theirs[round] ?? our)),
    ...(target === undefined ? {} : { target }),
    compared,
  };
}

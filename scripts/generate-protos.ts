/**
 * `npm run generate`: writes a module for each proto of the table, with one interface and one field table per message,
 * one constant object per enum and one method table per service. To add a proto, add a row.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generateModules, type ProtoEntry } from './proto/generate.js';

const protos: readonly ProtoEntry[] = [
  { proto: 'src/grpc/google/timestamp.proto', importedAs: 'google/protobuf/timestamp.proto' },
  { proto: 'src/grpc/google/wrappers.proto', importedAs: 'google/protobuf/wrappers.proto' },
  { proto: 'src/cri/cri.proto' },
  { proto: 'src/cri/containerd-events.proto' },
  { proto: 'src/cri/containerd-content.proto' },
  { proto: 'src/plugins/registration.proto' },
  { proto: 'src/volumes/csi/csi.proto', importedAs: 'csi.proto' },
  // What a storage driver serves beside: only the driver of the tests has it.
  { proto: 'test/env/csi-driver/controller.proto' },
  { proto: 'src/resources/device-manager/device-plugin.proto' },
  { proto: 'src/resources/dra/dra.proto' },
  { proto: 'src/resources/dra/dra-health.proto' },
  { proto: 'src/pods/pods-api/pods-api.proto' },
  { proto: 'src/resources/pod-resources/pod-resources.proto' },
  { proto: 'src/resources/pod-resources/pod-resources-alpha.proto' },
  { proto: 'src/tracing/recording/otlp.proto' },
  // What the generator's own test reads: every feature once.
  { proto: 'scripts/proto/every-feature.proto' },
];

const root = path.join(import.meta.dirname, '..');
const read = (proto: string): string => readFileSync(path.join(root, proto), 'utf8');
for (const { path: output, text } of generateModules(protos, read)) {
  const file = path.join(root, output);
  // Tests that run meanwhile must not read a half of it.
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

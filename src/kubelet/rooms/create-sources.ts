/** Builds the sources of pods that the configuration and the options name. */
import {
  FileSource,
  HttpSource,
  type PodSource,
  type SourceContext,
  type SourceName,
} from '../../pods/index.js';
import type { AddedSource } from '../options.js';
import type { KubeletSettings } from '../settings.js';

export function sourceNames({ config, sources }: Pick<KubeletSettings, 'config' | 'sources'>): SourceName[] {
  return [
    ...(config.staticPodPath === '' ? [] : ['file' as const]),
    ...(config.staticPodURL === '' ? [] : ['http' as const]),
    ...sources.map(({ name }) => name),
  ];
}

export function createSources(
  settings: Pick<
    KubeletSettings,
    'config' | 'sources' | 'clock' | 'timeline' | 'nodeName' | 'objects' | 'join' | 'outside'
  >,
  deliver: SourceContext['deliver'],
): PodSource[] {
  const { config, clock, timeline, nodeName, objects, join, outside } = settings;
  const told = new Set<string>();
  const context: SourceContext = {
    clock,
    timeline,
    pods: {
      nodeName,
      // Without an API, objects that the node was given are all that such a reference can mean.
      refuseApiReferences: objects === undefined || join !== undefined,
      // There are only a few texts, and each is told once however many manifests it is true of.
      onNotice: (message) => {
        if (told.has(message)) return;
        told.add(message);
        timeline.record({ kind: 'notice', what: 'manifest.notice', message, level: 'info' });
      },
    },
    deliver,
  };
  /** What a source reads lies outside: the kubelet sees the pods that it delivers. */
  const outsideSource = (name: SourceName, create: AddedSource['create']): PodSource => {
    const port = outside.port(`source ${name}`, () => ({
      run: (given: SourceContext['deliver'], signal: AbortSignal) =>
        create({
          ...context,
          clock: outside.clock,
          timeline: outside.timeline(timeline),
          deliver: given,
        }).run(signal),
    }));
    return { run: (signal) => port.run(deliver, signal) };
  };
  const sources: PodSource[] = settings.sources.map(({ name, create, isInside }) =>
    isInside === true ? create(context) : outsideSource(name, create),
  );
  if (config.staticPodPath !== '') {
    const { staticPodPath: path, fileCheckFrequency: checkPeriodMs } = config;
    sources.push(outsideSource('file', (given) => new FileSource({ ...given, path, checkPeriodMs })));
  }
  if (config.staticPodURL !== '') {
    const { staticPodURL: url, staticPodURLHeader: headers, httpCheckFrequency: checkPeriodMs } = config;
    sources.push(outsideSource('http', (given) => new HttpSource({ ...given, url, headers, checkPeriodMs })));
  }
  return sources;
}

/** Objects and lists in the form that a client asked for. */
import type { KubeList, KubeObject } from '../../kube/types/index.js';
import { apiVersionOf } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';
import { named } from '../server.js';
import type { ResponseForm } from './media.js';

/** Which of an object's parts a row carries. */
export type IncludedObject = 'Metadata' | 'Object' | 'None';

/** Prints objects as the rows of a `meta.k8s.io/v1` Table. */
export interface TablePrinter {
  table(
    kind: ServedKind,
    objects: readonly KubeObject[],
    options: { readonly nowMs: number; readonly include: IncludedObject; readonly withColumns: boolean },
  ): { readonly [member: string]: unknown };
}

export interface RenderOptions {
  readonly kind: ServedKind;
  readonly form: ResponseForm;
  readonly include: IncludedObject;
  readonly nowMs: number;
  readonly printer: TablePrinter;
}

export function renderObject(object: KubeObject, options: RenderOptions): unknown {
  const { kind, form, include, nowMs, printer } = options;
  switch (form) {
    case 'object':
      return named(kind.resource, object);
    case 'metadata':
      return metadataOf(object);
    case 'table':
      return {
        ...printer.table(kind, [object], { nowMs, include, withColumns: true }),
        metadata: { resourceVersion: object.metadata.resourceVersion ?? '' },
      };
  }
}

export function renderList(list: KubeList<KubeObject>, options: RenderOptions): unknown {
  const { kind, form, include, nowMs, printer } = options;
  switch (form) {
    case 'object':
      return { ...list, items: list.items.map(withoutKind) };
    case 'metadata':
      return {
        apiVersion: 'meta.k8s.io/v1',
        kind: 'PartialObjectMetadataList',
        metadata: list.metadata,
        items: list.items.map((object) => ({ metadata: object.metadata })),
      };
    case 'table':
      return {
        ...printer.table(kind, list.items, { nowMs, include, withColumns: true }),
        metadata: list.metadata,
      };
  }
}

function metadataOf(object: KubeObject): unknown {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: object.metadata };
}

/** The list names them for all. */
function withoutKind({ apiVersion, kind, ...rest }: KubeObject): unknown {
  return rest;
}

/** An object with nothing but a version, as bookmarks carry it. */
export function bookmark(
  { kind, form }: Pick<RenderOptions, 'kind' | 'form'>,
  resourceVersion: string,
  isInitialEnd: boolean,
): unknown {
  const annotations = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  if (form === 'table') {
    const metadata = { resourceVersion, ...annotations };
    return { apiVersion: 'meta.k8s.io/v1', kind: 'Table', metadata, columnDefinitions: null, rows: [] };
  }
  return {
    apiVersion: form === 'metadata' ? 'meta.k8s.io/v1' : apiVersionOf(kind.resource),
    kind: form === 'metadata' ? 'PartialObjectMetadata' : kind.resource.kind,
    metadata: { resourceVersion, creationTimestamp: null, ...annotations },
  };
}

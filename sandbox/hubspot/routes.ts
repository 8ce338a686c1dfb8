import type { ApiAnswer } from '../kit/answer.ts';
import * as associations from './association-routes.ts';
import * as batches from './batch-routes.ts';
import { type Context, typeIn } from './call.ts';
import * as objects from './object-routes.ts';
import { listPipelines } from './pipeline-routes.ts';
import * as preferences from './preference-routes.ts';
import * as properties from './property-routes.ts';
import { objectScope, schemaScopes } from './scopes.ts';
import { search } from './search.ts';

/** Dated versions that the API supports (developers.hubspot.com, versioning). */
export const DATED_VERSIONS: readonly string[] = ['2026-03', '2026-09'];

/** Base paths of each part of the API, in the older form and in the dated form. */
const BASES = {
  objects: ['/crm/v3/objects', '/crm/objects'],
  links: ['/crm/v4/objects', '/crm/objects'],
  associations: ['/crm/v4/associations', '/crm/associations'],
  properties: ['/crm/v3/properties', '/crm/properties'],
  pipelines: ['/crm/v3/pipelines', '/crm/pipelines'],
  account: ['/account-info/v3', '/account-info'],
  preferences: ['/communication-preferences/v4', '/communication-preferences'],
} as const;

/** One call of the API. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Patterns of the path in each version. */
  paths: string[];
  isSearch: boolean;
  /** Returns the scopes that a token must have. Throws HubSpotError 400 for an unknown object type. */
  scopes(context: Context): string[][];
  handler(context: Context): ApiAnswer;
}

type Access = 'read' | 'write';

/** All calls of the API. */
export const ROUTES: readonly Route[] = [
  ...objectRoutes(),
  ...associationRoutes(),
  ...propertyRoutes(),
  route('GET', 'pipelines', '/:objectType', (context) => [[objectScope(typeIn(context), 'read')]], listPipelines),
  route('GET', 'account', '/details', () => [], accountDetails),
  route('GET', 'preferences', '/definitions', () => [['communication_preferences.read_write']], preferences.listTypes),
  route(
    'POST',
    'preferences',
    '/statuses/batch/read',
    () => [['communication_preferences.statuses.batch.read']],
    preferences.readStatuses,
  ),
  route(
    'POST',
    'preferences',
    '/statuses/batch/write',
    () => [['communication_preferences.statuses.batch.write']],
    preferences.writeStatuses,
  ),
];

function objectRoutes(): Route[] {
  const on = (method: Route['method'], path: string, access: Access, handler: Route['handler']): Route =>
    route(method, 'objects', `/:objectType${path}`, (context) => [[objectScope(typeIn(context), access)]], handler);
  return [
    on('GET', '', 'read', objects.listAll),
    on('POST', '', 'write', objects.createOne),
    on('GET', '/:id', 'read', objects.readOne),
    on('PATCH', '/:id', 'write', objects.updateOne),
    on('DELETE', '/:id', 'write', objects.archiveOne),
    on('POST', '/merge', 'write', objects.mergeTwo),
    on('POST', '/gdpr-delete', 'write', objects.eraseOne),
    on('POST', '/batch/create', 'write', batches.batchCreate),
    on('POST', '/batch/read', 'read', batches.batchRead),
    on('POST', '/batch/update', 'write', batches.batchUpdate),
    on('POST', '/batch/upsert', 'write', batches.batchUpsert),
    on('POST', '/batch/archive', 'write', batches.batchArchive),
    { ...on('POST', '/search', 'read', search), isSearch: true },
  ];
}

function associationRoutes(): Route[] {
  const scopesFor =
    (access: Access) =>
    (context: Context): string[][] => [
      [objectScope(typeIn(context, 'from'), access)],
      [objectScope(typeIn(context, 'to'), access)],
    ];
  const one = (method: Route['method'], path: string, access: Access, handler: Route['handler']): Route =>
    route(method, 'links', `/:from/:id/associations${path}`, scopesFor(access), handler);
  const many = (path: string, access: Access, handler: Route['handler']): Route =>
    route('POST', 'associations', `/:from/:to/batch${path}`, scopesFor(access), handler);
  return [
    one('PUT', '/default/:to/:toId', 'write', associations.associateByDefault),
    one('PUT', '/:to/:toId', 'write', associations.associate),
    one('DELETE', '/:to/:toId', 'write', associations.dissociate),
    one('GET', '/:to', 'read', associations.listAssociations),
    many('/associate/default', 'write', associations.batchAssociateByDefault),
    many('/create', 'write', associations.batchAssociate),
    many('/read', 'read', associations.batchReadAssociations),
    many('/archive', 'write', associations.batchDissociate),
  ];
}

function propertyRoutes(): Route[] {
  const on = (method: Route['method'], path: string, access: Access, handler: Route['handler']): Route =>
    route(method, 'properties', `/:objectType${path}`, (context) => [schemaScopes(typeIn(context), access)], handler);
  return [
    on('GET', '', 'read', properties.listProperties),
    on('POST', '', 'write', properties.createProperty),
    on('POST', '/batch/create', 'write', properties.createProperties),
    on('POST', '/batch/read', 'read', properties.readProperties),
    on('GET', '/groups', 'read', properties.listGroups),
    on('POST', '/groups', 'write', properties.createGroup),
    on('GET', '/groups/:name', 'read', properties.readGroup),
    on('GET', '/:name', 'read', properties.readProperty),
    on('PATCH', '/:name', 'write', properties.changeProperty),
    on('DELETE', '/:name', 'write', properties.archiveProperty),
  ];
}

function route(
  method: Route['method'],
  base: keyof typeof BASES,
  path: string,
  scopes: Route['scopes'],
  handler: Route['handler'],
): Route {
  const [older, dated] = BASES[base];
  const paths = [`${older}${path}`, ...DATED_VERSIONS.map((version) => `${dated}/${version}${path}`)];
  return { method, paths, isSearch: false, scopes, handler };
}

/** `GET …/details`: returns the id and the time zone of the account. */
function accountDetails({ world }: Context): ApiAnswer {
  const { portalId, timeZone } = world.settings;
  const body = {
    portalId,
    accountType: 'STANDARD',
    timeZone,
    companyCurrency: 'CHF',
    additionalCurrencies: [],
    uiDomain: 'app-eu1.hubspot.com',
    dataHostingLocation: 'eu1',
  };
  return { status: 200, body };
}

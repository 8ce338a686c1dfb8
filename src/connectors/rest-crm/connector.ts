import type { CrmItem } from '../../model/items.ts';
import { askedAlone } from '../asked-alone.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { wholeChanges } from '../cursor.ts';
import { applyFitting, type RefusedValues } from '../fitting.ts';
import { applyAll } from './applying.ts';
import { createCrmClient } from './client.ts';
import { errors } from './errors.ts';
import { openExisting } from './existing.ts';
import type { Scope } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { belongingReader, findByKeys, readOurs } from './lookup.ts';
import { hasChoices, prepareTarget, readChoices, rulesDescribed } from './preparing.ts';
import type { RestCrmSettings } from './schemas.ts';
import { pageAt } from './templates.ts';

/** Opens one target in a CRM. */
export function openRestCrm(context: ConnectorContext<RestCrmSettings>): Connector<CrmItem> {
  const { settings, crm, ownerTag, http, authorizer, log } = context;
  const { description, baseUrl } = settings;
  const properties = crm?.properties ?? [];
  const known = new Set(properties.map(({ name }) => name));
  const client = createCrmClient({ http, authorizer, settings, known });
  const rules = rulesDescribed(description.streams[crm?.stream ?? 'patients']);
  const refused: RefusedValues = new Map();
  let choices: Scope['choices'] | null = null;
  const bareScope = (signal: AbortSignal): Scope => {
    const stream = crm?.stream ?? 'patients';
    const resource = description.streams[stream];
    if (resource === undefined) throw errors.make('stream-not-described');
    const beside = { ownerTag, baseUrl, log, signal, choices: choices ?? new Map() };
    return { client, description, resource, stream, properties, rules, known, ...beside };
  };
  const scopeFor = async (signal: AbortSignal): Promise<Scope> => {
    const scope = bareScope(signal);
    choices ??= hasChoices(scope) ? await readChoices(scope) : new Map();
    return { ...scope, choices };
  };
  const connector: Connector<CrmItem> = {
    async prepare(_known, signal) {
      const scope = bareScope(signal);
      const container = await prepareTarget(scope);
      choices = hasChoices(scope) ? await readChoices(scope) : new Map();
      return container;
    },
    async apply(_container, operations, signal) {
      const scope = await scopeFor(signal);
      const fitting = { ...scope, refused, batchSize: BATCH_SIZE };
      return await applyFitting(operations, fitting, (some) => applyAll(scope, some));
    },
    async *read(_container, window, signal) {
      yield* readOurs(await scopeFor(signal), window);
    },
    async find(_container, keys, signal) {
      const scope = await scopeFor(signal);
      const rows = [...(await findByKeys(scope, scope.resource, keys)).values()].flat();
      const ours = await belongingReader(scope)(rows.filter(({ owner }) => owner !== 'foreign'));
      return ours.flatMap(({ key, remote }) => (key === null ? [] : [{ key, ...remote }]));
    },
    async pagesOf(_container, remoteIds, signal) {
      const { page } = bareScope(signal).resource;
      const addresses = remoteIds.map((id) => [id, page === undefined ? null : pageAt(baseUrl, page, id)] as const);
      return new Map(addresses.flatMap(([id, address]) => (address === null ? [] : [[id, address]])));
    },
    existing: openExisting(scopeFor),
    async changes(_container, { window }, signal) {
      return await wholeChanges(readOurs(await scopeFor(signal), window));
    },
  };
  return askedAlone(connector, { errors });
}

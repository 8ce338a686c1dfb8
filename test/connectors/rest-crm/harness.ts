import { expect } from 'vitest';
import type { Authorizer, Connector } from '../../../src/connectors/connector.ts';
import { restCrm } from '../../../src/connectors/rest-crm/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { CrmItem, MappedProperty, PropertyValue, StreamName } from '../../../src/core/model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../../../src/core/model/operations.ts';
import { crmForm } from '../../../src/domain/item-forms.ts';
import { createTargetIdentity, type TargetIdentity } from '../../../src/engine/identity.ts';
import { paced } from '../../support/pace.ts';

const IDENTITY_KEY = new Uint8Array(32).fill(7);

/** What is opened. */
export interface TargetChoice {
  /** The target's part of the tenant file. */
  settings: object;
  stream?: StreamName;
  properties: readonly MappedProperty[];
  /** Identity of the target's own; two names are two targets. */
  target?: string;
  authorizer?: Authorizer;
  timeoutMs?: number;
}

/** A target with what a caller of the connector would know. */
export interface OpenTarget {
  connector: Connector<CrmItem>;
  identity: TargetIdentity;
  create(recordId: string, item: CrmItem): Operation<CrmItem>;
  update(recordId: string, item: CrmItem, remoteId: string | null): Operation<CrmItem>;
  remove(recordId: string, remoteId?: string | null, erase?: boolean): Operation<CrmItem>;
  apply(...operations: Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]>;
  /** One `apply` of one operation that must be written. */
  written(operation: Operation<CrmItem>): Promise<Extract<Outcome<CrmItem>, { result: 'written' }>>;
  readAll(): Promise<RemoteItem<CrmItem>[]>;
  find(...recordIds: string[]): Promise<RemoteItem<CrmItem>[]>;
}

/** An authorization that never expires. */
export function steadyLogin(header = 'Bearer token-of-a-test', headerName?: string): Authorizer {
  const value = async () => header;
  return { header: value, renew: value, quotaUser: null, ...(headerName === undefined ? {} : { headerName }) };
}

/** A signal that ends no test early. */
export function signal(): AbortSignal {
  return AbortSignal.timeout(paced(60_000));
}

/** Opens a target of the connector under test. @throws Error when the settings are refused */
export function openTarget(choice: TargetChoice): OpenTarget {
  const { stream = 'patients', properties, target = 'crm' } = choice;
  const form = crmForm(
    stream,
    properties.map(({ name }) => name),
  );
  const identity = createTargetIdentity(IDENTITY_KEY, 'clinic', target, form);
  const connector = restCrm.open({
    settings: restCrm.settingsSchema.parse(choice.settings),
    ownerTag: identity.ownerTag,
    crm: { stream, properties },
    authorizer: choice.authorizer ?? steadyLogin(),
    http: createHttpClient({
      userAgent: 'clinic-mirror-test',
      clock: Date.now,
      timeoutMs: choice.timeoutMs ?? paced(10_000),
    }),
    shared: new SharedState(),
    log: silentLogger,
    clock: Date.now,
  });
  const apply = (...operations: Operation<CrmItem>[]) => connector.apply('container', operations, signal());
  const naming = (recordId: string) => ({ recordId, key: identity.key(recordId, 0), revision: 1 });
  return {
    connector,
    identity,
    apply,
    create: (recordId, item) => ({
      kind: 'create',
      ...naming(recordId),
      sealedRecordId: identity.sealedRecordId(recordId),
      item,
    }),
    update: (recordId, item, remoteId) => ({
      kind: 'update',
      ...naming(recordId),
      sealedRecordId: identity.sealedRecordId(recordId),
      item,
      versionTag: null,
      remoteId,
    }),
    remove: (recordId, remoteId = null, erase = false) => ({
      kind: 'delete',
      ...naming(recordId),
      versionTag: null,
      remoteId,
      erase,
    }),
    async written(operation) {
      const [outcome] = await apply(operation);
      expect(outcome, effectOf(outcome)).toMatchObject({ recordId: operation.recordId, result: 'written' });
      return outcome as Extract<Outcome<CrmItem>, { result: 'written' }>;
    },
    readAll: async () => (await Array.fromAsync(connector.read('container', null, signal()))).flat(),
    find: (...recordIds) =>
      connector.find(
        'container',
        recordIds.map((recordId) => identity.key(recordId, 0)),
        signal(),
      ),
  };
}

/** A contact of these values. */
export function contact(properties: Record<string, PropertyValue>): CrmItem {
  return { properties, contactKey: null, startAt: 0 };
}

/** Returns the effect of an operation, or the code of its failure. */
export function effectOf(outcome: Outcome<CrmItem> | undefined): string {
  if (outcome === undefined) return 'missing';
  if (outcome.result === 'failed') return outcome.error.code;
  return 'effect' in outcome ? outcome.effect : outcome.result;
}

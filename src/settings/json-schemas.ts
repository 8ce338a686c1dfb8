import { z } from 'zod';
import { clinicProfileSchema } from '../clinic/schema/profile.ts';
import type { ChannelDescription, ConnectorDescription } from './configuration.ts';
import { secretSchemas } from './secret-reference.ts';
import { settingsSchema } from './settings-schema.ts';
import { tenantSchema } from './tenant-schema.ts';

type JsonSchema = Record<string, unknown>;

/**
 * Returns JSON Schemas (draft 7, with the best editor support) of the configuration files, by file name below `config/schema`. Only `config
 * check` runs the checks between files.
 */
export function jsonSchemas(
  connectors: ReadonlyMap<string, ConnectorDescription>,
  channels: ReadonlyMap<string, ChannelDescription>,
): Map<string, JsonSchema> {
  const ofSettings = secretSchemas({ env: {}, dir: '.' });
  const secrets = secretSchemas({ env: {}, dir: '.', sealed: () => ({ value: 'none is read' }) });
  const channelSchemas = new Map([...channels].map(([kind, module]) => [kind, module.settingsSchema(secrets)]));
  return new Map([
    ['settings.json', toJsonSchema(settingsSchema(ofSettings), 'ref')],
    ['tenant.json', withChannels(withConnectors(toJsonSchema(tenantSchema(secrets)), connectors), channelSchemas)],
    ['clinic-profile.json', toJsonSchema(clinicProfileSchema, 'ref')],
  ]);
}

/** @param reused `ref` writes repeated parts once; not for a schema that becomes part of another */
function toJsonSchema(schema: z.ZodType, reused: 'ref' | 'inline' = 'inline'): JsonSchema {
  const { '~standard': _standard, ...jsonSchema } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    reused,
  });
  return jsonSchema;
}

const targetsOfTenant = z.object({
  properties: z.object({
    targets: z.object({ additionalProperties: z.looseObject({ properties: z.record(z.string(), z.unknown()) }) }),
  }),
});

/** Adds the connectors' names with the schemas of their `settings`. */
function withConnectors(tenant: JsonSchema, connectors: ReadonlyMap<string, ConnectorDescription>): JsonSchema {
  if (connectors.size === 0) return tenant;
  const target = targetsOfTenant.parse(tenant).properties.targets.additionalProperties;
  const connector = target.properties.connector;
  const described = {
    ...target,
    properties: {
      ...target.properties,
      connector: { ...z.looseObject({}).parse(connector), enum: [...connectors.keys()] },
    },
    anyOf: [...connectors].map(([name, { settingsSchema: vendorSchema }]) => {
      const { $schema: _draft, ...settings } = toJsonSchema(vendorSchema);
      return { properties: { connector: { const: name }, settings } };
    }),
  };
  const { properties } = z.looseObject({ properties: z.record(z.string(), z.looseObject({})) }).parse(tenant);
  return {
    ...tenant,
    properties: { ...properties, targets: { ...properties.targets, additionalProperties: described } },
  };
}

const jsonObject = z.record(z.string(), z.unknown());
const CHANNELS_PATH = ['properties', 'reminders', 'properties', 'channels', 'additionalProperties'];

/** Adds the kinds of reminder channels with the schemas of their `settings`. */
function withChannels(tenant: JsonSchema, channels: ReadonlyMap<string, z.ZodType>): JsonSchema {
  if (channels.size === 0) return tenant;
  return changedAt(tenant, CHANNELS_PATH, (channel) => ({
    ...changedAt(channel, ['properties', 'kind'], (kind) => ({ ...kind, enum: [...channels.keys()] })),
    anyOf: [...channels].map(([kind, schema]) => {
      const { $schema: _draft, ...settings } = toJsonSchema(schema);
      return { properties: { kind: { const: kind }, settings } };
    }),
  }));
}

/** Returns a copy with a changed part. */
function changedAt(
  whole: unknown,
  [key, ...rest]: readonly string[],
  change: (part: JsonSchema) => JsonSchema,
): JsonSchema {
  const part = jsonObject.parse(whole);
  return key === undefined ? change(part) : { ...part, [key]: changedAt(part[key], rest, change) };
}

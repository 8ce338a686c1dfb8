import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { jsonSchemas } from '../../src/settings/json-schemas.ts';
import { schemaFiles } from '../../tools/write-schemas.ts';
import { CHANNELS, CONNECTORS } from './configuration-directory.ts';

test.each([...schemaFiles()].map(([file, content]) => [file.split('/').at(-1), file, content]))(
  'the committed %s is current (else: npm run generate)',
  (_name, file, content) => {
    expect(readFileSync(file ?? '', 'utf8')).toBe(content);
  },
);

const CONFIG = join(import.meta.dirname, '../../config');
const configurationFiles = readdirSync(CONFIG, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.yaml/.test(name),
);

test.each(configurationFiles)('config/%s names its schema to editors', (name) => {
  const file = join(CONFIG, name);
  const schema = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(file, 'utf8'))?.[1];
  expect([...schemaFiles().keys()]).toContain(join(dirname(file), schema ?? 'none'));
});

const targetsOf = z.object({
  properties: z.object({
    targets: z.object({
      additionalProperties: z.looseObject({
        additionalProperties: z.literal(false),
        required: z.array(z.string()),
        properties: z.object({ connector: z.unknown() }),
        anyOf: z.array(z.unknown()),
      }),
    }),
  }),
});

describe('the schema of a tenant', () => {
  const target = targetsOf.parse(jsonSchemas(CONNECTORS, CHANNELS).get('tenant.json')).properties.targets
    .additionalProperties;

  test('contains the connectors and their settings', () => {
    expect(target.properties.connector).toMatchObject({ enum: ['calendar', 'dav'] });
    expect(target.anyOf[0]).toMatchObject({
      properties: {
        connector: { const: 'calendar' },
        settings: { required: ['calendar'], additionalProperties: false },
      },
    });
  });

  test('requires only settings without a default', () => {
    expect(target.required).toEqual(['connector', 'connection']);
  });
});

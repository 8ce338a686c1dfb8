// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/features/operations.ts';
import { addOperations } from '../../../src/operator/cli/operation-commands.ts';
import { OPERATION_SENTENCES, OPERATION_TEXTS } from '../../../src/operator/cli/operation-texts.ts';
import { commandsOf } from '../../../src/operator/cli/program.ts';
import { openApiDocument } from '../../../src/operator/http-server/api/openapi.ts';
import { routesOf } from '../../../src/operator/http-server/api/routes.ts';
import { createMcpServer } from '../../../src/operator/mcp-server/server.ts';
import type { AnyOperation, CommandBinding } from '../../../src/operator/operations/operation.ts';
import { unusedOutside } from '../../../tools/unused-outside.ts';
import { openInstallation } from '../control/open-installation.ts';
import { contextWith } from './run-operation.ts';

type Table = Record<string, AnyOperation>;
const TABLE = OPERATIONS as Table;
const ENTRIES = Object.entries(TABLE);
/** Operations whose result a terminal shows: by a text, a sentence or a document. */
const TEXTS = [
  ...[OPERATION_TEXTS, OPERATION_SENTENCES].flatMap((texts) => Object.keys(texts)),
  ...ENTRIES.flatMap(([name, { document }]) => (document === undefined ? [] : [name])),
];

/** Fields that an assistant sees under a name, or at a depth, that the output does not have. */
const DERIVED = new Set(['clinics', 'lastCycleAt', 'isThere', 'holds', 'changes']);

/** A part of a JSON schema. */
interface Json {
  type?: string;
  properties?: Record<string, Json>;
  required?: string[];
  items?: Json;
  anyOf?: Json[];
  oneOf?: Json[];
  additionalProperties?: Json | boolean;
}

/** Returns paths of all fields of a zod type; a field that several variants share appears once. */
function fieldsOf(type: z.ZodType, path = ''): string[] {
  const inner = (each: unknown, step = '') => fieldsOf(each as z.ZodType, path + step);
  if (type instanceof z.ZodNullable || type instanceof z.ZodOptional || type instanceof z.ZodDefault)
    return inner(type.unwrap());
  if (type instanceof z.ZodArray) return inner(type.element, '[]');
  if (type instanceof z.ZodRecord) return inner(type.valueType, '{}');
  if (type instanceof z.ZodUnion) return [...new Set(type.options.flatMap((each) => inner(each)))];
  if (!(type instanceof z.ZodObject)) return [];
  return Object.entries(type.shape).flatMap(([name, each]) => [`${path}.${name}`, ...inner(each, `.${name}`)]);
}

/** The same of a JSON schema. */
function fieldsOfJson(schema: Json, path = ''): string[] {
  const { properties = {}, items, anyOf = [], oneOf = [], additionalProperties } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, each]) => [
      `${path}.${name}`,
      ...fieldsOfJson(each, `${path}.${name}`),
    ]),
    ...(items === undefined ? [] : fieldsOfJson(items, `${path}[]`)),
    ...(typeof additionalProperties === 'object' ? fieldsOfJson(additionalProperties, `${path}{}`) : []),
    ...new Set([...anyOf, ...oneOf].flatMap((each) => fieldsOfJson(each, path))),
  ];
}

const isRequired = (type: unknown) => !(type as z.ZodType).safeParse(undefined).success;
const required = (shape: Record<string, unknown>, fields: readonly string[]) =>
  fields.filter((field) => isRequired(shape[field])).toSorted();

function commandsIn(table: Table): { words: string; command: Command }[] {
  const program = new Command('clinic-mirror');
  const words = Object.values(table).flatMap(({ commands }) => commands.map((binding) => binding.words.split(' ')[0]));
  const given = { outside: unusedOutside(), options: () => ({ config: '', as: null, reason: null }), print: () => {} };
  addOperations(program, { ...given, operations: table }, ...new Set(words.map((word) => word ?? '')));
  return program.commands.length === 0 ? [] : commandsOf(program);
}

async function toolsIn(table: Table) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const context = contextWith({ installation: openInstallation({ tenants: [] }) });
  await createMcpServer(context, '0.1.0', table).connect(ours);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(theirs);
  // `listTools` also compiles a validator for each tool, at several times the cost of everything else here.
  return (await client.request({ method: 'tools/list' }, ListToolsResultSchema)).tools;
}

/** Names of all that the table makes. */
async function surfacesOf(table: Table): Promise<string[]> {
  return [
    ...routesOf(table).map(({ method, path, name }) => `${method} ${path} ${name}`),
    ...commandsIn(table).flatMap(({ words, command }) => [
      words,
      ...command.options.map(({ long }) => `${words} ${long}`),
    ]),
    ...(await toolsIn(table)).map(({ name }) => `tool ${name}`),
  ];
}

const surfacesOfAll = surfacesOf(TABLE);

interface Parameter {
  name: string;
  in: string;
  required: boolean;
}

interface Described {
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { content: Record<string, { schema: Json }> }>;
}

/** What the OpenAPI document says of the routes of one operation, with each path. */
function describedBy(name: string, operation: AnyOperation): [string, Described][] {
  const { paths } = openApiDocument(routesOf({ [name]: operation })) as {
    paths: Record<string, Record<string, Described>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((described): [string, Described] => [path, described]),
  );
}

function checkCommand({ input }: AnyOperation, binding: CommandBinding<Record<string, unknown>>, command: Command) {
  const { fixed = {}, reads, by, writes, isText = false } = binding;
  const shape = input.shape;
  const args = command.registeredArguments.filter((each) => each.name() !== reads?.argument);
  const ofNoField = [by, writes].flatMap((option) => (option === undefined ? [] : new Option(option.flags).long));
  const options = command.options.filter(
    ({ long }) => !['--json', '--limit', ...('all' in shape ? [] : ['--all']), ...ofNoField].includes(long ?? ''),
  );
  const asked = [...args.map((each) => each.name()), ...options.map((each) => each.attributeName())];
  const others = [...Object.keys(fixed), reads?.field, by?.file, 'after', 'limit'];
  expect([...asked, ...others.filter((field) => field !== undefined && field in shape)].toSorted()).toEqual(
    Object.keys(shape).toSorted(),
  );
  const mandatory = [
    ...args.filter((each) => each.required).map((each) => each.name()),
    ...options.filter((each) => each.mandatory).map((each) => each.attributeName()),
  ];
  // An omitted flag is false. An operation can do without some fields that a command requires.
  // Another operation of the same words can do without an argument in brackets.
  const needed = required(shape, asked).filter(
    (field) => !(shape[field] instanceof z.ZodBoolean) && !binding.words.includes(`[${field}]`),
  );
  expect(mandatory).toEqual(expect.arrayContaining(needed));
  for (const each of [...args, ...options]) {
    const type = shape[each instanceof Object && 'attributeName' in each ? each.attributeName() : each.name()];
    if (type instanceof z.ZodEnum) expect(each.argChoices).toEqual(type.options);
  }
  const names = command.options.map(({ long }) => long);
  expect(names.includes('--json')).toBe(!isText);
  if ('limit' in shape) expect(names).toContain('--limit');
}

describe.each(ENTRIES)('%s', (name, operation) => {
  const { http, input, output, commands, assistants = [] } = operation;
  const shape = input.shape;

  test('has an interface, and no interface exists without it', async () => {
    const own = await surfacesOf({ [name]: operation });
    const all = await surfacesOfAll;
    const { [name]: _, ...others } = TABLE;
    const words = commands.map((binding) => binding.words);
    const ofSameWords = Object.entries(others).filter(([, other]) =>
      other.commands.some((binding) => words.includes(binding.words)),
    );
    const shared = await surfacesOf(Object.fromEntries(ofSameWords));
    expect(own.filter((surface) => !shared.includes(surface))).not.toEqual([]);
    const left = all.filter((surface) => !own.includes(surface) || shared.includes(surface));
    expect((await surfacesOf(others)).toSorted()).toEqual(left.toSorted());
  });

  if (http !== null)
    test('has all fields in OpenAPI', () => {
      const described = describedBy(name, operation);
      expect(described).toHaveLength(http?.ofTenant === undefined ? 1 : 2);
      for (const [path, { parameters, requestBody, responses }] of described) {
        const isOfAll = http?.ofTenant !== undefined && !path.includes('{tenant}');
        const fixed = Object.keys(http?.fixed ?? {});
        const fields = Object.keys(shape).filter((field) => !(isOfAll && field === 'tenant') && !fixed.includes(field));
        const body = requestBody?.content['application/json']?.schema ?? {};
        const inBody = Object.keys(body.properties ?? {}).filter((field) => field !== 'reason');
        const own = parameters.filter(({ name }) => name !== 'Prefer');
        const named = own.map((each) => (each.name === 'If-Match' ? 'ifMatch' : each.name));
        expect([...named, ...inBody].toSorted()).toEqual(fields.toSorted());
        const inPath = own.filter((each) => each.in === 'path').map((each) => each.name);
        expect(inPath.map((field) => `{${field}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
        const wanted = [...own.filter((each) => each.required).map((each) => each.name), ...(body.required ?? [])];
        const known = fields.filter((field) => field !== 'ifMatch');
        expect(wanted.filter((field) => field !== 'If-Match').toSorted()).toEqual(
          [...new Set([...inPath, ...required(shape, known)])].toSorted(),
        );
        const reply = responses[200]?.content['application/json']?.schema ?? {};
        expect(fieldsOfJson(reply).toSorted()).toEqual(fieldsOf(output).toSorted());
      }
    });

  if (commands.length > 0)
    test('has all fields of its input in each command, and a text', () => {
      expect(TEXTS).toContain(name);
      const made = commandsIn({ [name]: operation });
      expect(made).toHaveLength(commands.length);
      for (const [index, binding] of commands.entries())
        checkCommand(operation, binding, made[index]?.command as Command);
    });

  if (assistants.length > 0)
    test('gives assistants fields of its output, and requires fields of its input', async () => {
      const tools = await toolsIn({ [name]: operation });
      const names = new Set(fieldsOf(output).map(lastName));
      for (const binding of assistants) {
        const tool = tools.find((each) => each.name === binding.name);
        const hidden = [...Object.keys(binding.fixed ?? {}), 'after', 'limit'];
        expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(
          Object.keys(shape).filter((field) => !hidden.includes(field)),
        );
        expect((tool?.inputSchema.required ?? []).toSorted()).toEqual(required(shape, Object.keys(shape)));
        const shown = fieldsOf(binding.output);
        expect(fieldsOfJson(tool?.outputSchema as Json).toSorted()).toEqual(shown.toSorted());
        expect(shown.map(lastName).filter((field) => !(names.has(field) || DERIVED.has(field)))).toEqual([]);
        expect(operation.audit).toBeUndefined();
      }
    });
});

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).replaceAll(/[[\]{}]/g, '');
}

test('a text is for an operation with a command', () => {
  const withCommand = ENTRIES.filter(([, { commands }]) => commands.length > 0).map(([name]) => name);
  expect(TEXTS.toSorted()).toEqual(withCommand.toSorted());
});

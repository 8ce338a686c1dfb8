import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import { OPERATIONS, type OperationName } from '../../features/operations.ts';
import {
  type AnyOperation,
  type CommandBinding,
  inputOf,
  type OperationContext,
  type OptionBinding,
} from '../operations/operation.ts';
import { OPERATION_REMARKS, OPERATION_SENTENCES, OPERATION_TEXTS, type OperationText } from './operation-texts.ts';
import { type Asked, type Print, paged, wholeNumber, zoneOf } from './output.ts';
import type { CliOutside, GlobalOptions, OpenInstallation } from './outside.ts';

/** Functions that the command line supplies to operation commands. */
export interface OperationCommands {
  outside: CliOutside;
  options(): GlobalOptions;
  print: Print;
  /** Default: all. */
  operations?: Record<string, AnyOperation>;
}

type Binding = CommandBinding<Record<string, unknown>>;
type AnyText = OperationText<unknown, unknown>;

/** Descriptions of command groups. */
const ABOUT_GROUPS: Readonly<Record<string, string>> = {
  access: 'manage access to the pages and the API',
  logins: 'manage connections',
  links: 'manage unused links from login --link',
  tenants: 'manage tenant configurations',
  token: 'manage tokens for the API',
  sessions: 'list and end sessions of the pages',
  holds: 'decide held changes',
  credentials: 'back up and restore one tenant',
  feeds: 'manage the URLs of calendar feeds',
  reminders: 'show reminders and manage opt-outs',
  'audit-log': 'show who did what, when and why',
  triggers: 'show and reopen webhook triggers',
};

/** One operation of a command. */
interface Variant {
  name: OperationName;
  operation: AnyOperation;
  binding: Binding;
}

/** Adds commands of operations with one of these first words. */
export function addOperations(program: Command, supplied: OperationCommands, ...firstWords: string[]): void {
  addCommands(program, supplied, (word) => firstWords.includes(word));
}

/** Adds commands of operations whose first word is not yet a command. */
export function addOtherOperations(program: Command, supplied: OperationCommands): void {
  const names = new Set(program.commands.map((command) => command.name()));
  addCommands(program, supplied, (word) => !names.has(word));
}

function addCommands(program: Command, supplied: OperationCommands, isWanted: (firstWord: string) => boolean): void {
  const { operations = OPERATIONS as Record<string, AnyOperation> } = supplied;
  const all = Object.entries(operations).flatMap(([name, operation]) =>
    operation.commands.map((binding): Variant => ({ name: name as OperationName, operation, binding })),
  );
  const wanted = all.filter(({ binding }) => isWanted(binding.words.split(' ')[0] ?? ''));
  const byWords = Map.groupBy(wanted, ({ binding }) => binding.words);
  for (const [words, variants] of byWords) addCommand(program, supplied, words, variants);
}

function addCommand(program: Command, supplied: OperationCommands, usage: string, variants: readonly Variant[]): void {
  const [first] = variants;
  if (first === undefined) return;
  const words = usage.split(' ').filter((word) => !/^[<[]/.test(word));
  const usedArguments = [...usage.matchAll(/[<[]\w+(?:\.\.\.)?[>\]]/g)].map(([argument]) => argument);
  const names = usedArguments.map((argument) => argument.replaceAll(/[<>[\].]/g, ''));
  const parent = words.slice(0, -1).reduce(groupOf, program);
  const command = parent.command(words.at(-1) ?? '', { isDefault: first.binding.isDefault === true });
  command.description(first.binding.about ?? first.operation.summary);
  for (const argument of usedArguments) command.addArgument(argumentOf(argument, first.operation));
  const selectors = variants.map(({ binding }) => binding.by ?? binding.writes).filter((each) => each !== undefined);
  const attributes = selectors.map(({ flags }) => new Option(flags).attributeName());
  for (const { flags, about } of selectors) {
    const option = new Option(flags, about);
    command.addOption(option.conflicts(attributes.filter((name) => name !== option.attributeName())));
  }
  const fieldsOf = new Map(variants.map((variant) => [variant, optionalFields(variant, names)]));
  for (const [{ operation, binding }, fields] of fieldsOf) {
    for (const field of fields) {
      const option = optionOf(field, operation, binding.options?.[field] ?? {});
      if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
    }
  }
  if (variants.some(({ operation, binding }) => binding.isList === true || 'limit' in operation.input.shape))
    paged(command, first.binding.options?.limit?.about);
  if (variants.some(({ binding }) => binding.isText !== true)) command.option('--json', 'print JSON');
  command.action(async (...args: unknown[]) => {
    const asked = args[names.length] as Asked & Record<string, unknown>;
    const variant = selectedOf(variants, asked) ?? first;
    const values = Object.fromEntries(names.map((field, index) => [field, args[index]]));
    await runOperation(supplied, variant, { ...values, ...pick(asked, fieldsOf.get(variant) ?? []) }, asked);
  });
}

/** Lists the input fields that are options of the command. */
function optionalFields({ operation, binding }: Variant, names: readonly string[]): string[] {
  const { fixed = {}, reads, by } = binding;
  const others = [...names, ...Object.keys(fixed), reads?.field, by?.file, 'after', 'limit'];
  return Object.keys(operation.input.shape).filter((field) => !others.includes(field));
}

/** Returns the operation that an option selects, or the default operation. */
function selectedOf(variants: readonly Variant[], asked: Record<string, unknown>): Variant | undefined {
  const isSelected = ({ binding: { by } }: Variant) =>
    by !== undefined && asked[new Option(by.flags).attributeName()] !== undefined;
  return variants.find(isSelected) ?? variants.find(({ binding: { by } }) => by === undefined || by.isUsual === true);
}

async function runOperation(
  { outside, options, print }: OperationCommands,
  { name, operation, binding }: Variant,
  typed: Record<string, unknown>,
  asked: Asked & Record<string, unknown>,
): Promise<void> {
  const { isOfOneTenant = false, reportsRefused = false } = binding;
  const wanted = {
    ...{ ...options(), reportsRefused },
    ...(isOfOneTenant && typeof typed.tenant === 'string' ? { only: typed.tenant } : {}),
  };
  const text = await textOf(name, operation);
  const remark = OPERATION_REMARKS[name] as AnyText | undefined;
  await outside.withInstallation(wanted, async (open) => {
    const fields = { ...(await withFiles(outside, binding, typed, asked)), ...binding.fixed };
    const input = limited(inputOf(operation, fields, 'add --help for the usage of the command'), operation, asked);
    const progress = outside.progress();
    const context = await contextOf(open, { progress, signals: { stop: outside.signal, abort: outside.signal } });
    const result = await operation.run(input, context).finally(() => progress.end());
    const file = binding.writes === undefined ? undefined : asked[new Option(binding.writes.flags).attributeName()];
    if (typeof file === 'string') await outside.write(file, binding.writes?.of(result) ?? '');
    const zone = zoneOf(open.installation, typeof input.tenant === 'string' ? input.tenant : undefined);
    const words = remark?.(result, input) ?? '';
    if (words !== '') outside.err(words);
    const shown = operation.output.parse(result) as Record<string, unknown>;
    const jsonFields = binding.jsonFields?.(input) ?? Object.keys(shown);
    const supplied = typeof file === 'string' ? { ...input, file } : input;
    print(asked, pick(shown, jsonFields), () => text(result, supplied), zone);
    if (operation.endsWithOne?.holds(result, input) === true) outside.exit(1);
    if (operation.endsWithTwo?.(result) === true) outside.exit(2);
  });
}

async function textOf(name: OperationName, { document }: AnyOperation): Promise<AnyText> {
  const own = OPERATION_SENTENCES[name] ?? (await OPERATION_TEXTS[name]?.());
  if (own !== undefined || document === undefined) return own as AnyText;
  const [make, { printTerminal }] = await Promise.all([document(), import('./print-terminal.ts')]);
  return (result) => printTerminal(make(result, 'en'));
}

/** Returns the typed input, with the texts of files and standard input. */
async function withFiles(
  { read }: CliOutside,
  { reads, by, options = {} }: Binding,
  typed: Record<string, unknown>,
  asked: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const whole = { ...typed };
  if (reads !== undefined) {
    const file = reads.argument === undefined ? undefined : whole[reads.argument];
    if (reads.argument !== undefined) delete whole[reads.argument];
    const text = await read(file as string | undefined);
    whole[reads.field] = reads.argument === undefined ? text.trim() : text;
  }
  if (by?.file !== undefined) whole[by.file] = await read(String(asked[new Option(by.flags).attributeName()]));
  for (const [field, option] of Object.entries(options)) {
    const file = whole[field];
    if (option?.fromFile !== undefined && typeof file === 'string')
      whole[field] = await option.fromFile(await read(file));
  }
  return whole;
}

/** Applies --limit and --all to lists without paging. */
function limited(input: Record<string, unknown>, { input: { shape } }: AnyOperation, { limit, all }: Asked) {
  if (!('limit' in shape) || 'after' in shape) return input;
  return { ...input, limit: all === true ? Number.MAX_SAFE_INTEGER : (limit ?? input.limit) };
}

/** Returns the context of operations for the operator in a terminal. */
export async function contextOf(
  open: OpenInstallation,
  rest: Pick<OperationContext, 'progress' | 'signals'>,
): Promise<OperationContext> {
  const { openStatuses } = await import('../control/statuses.ts');
  const { acting, services: openServices, ...services } = open;
  return {
    services: { ...services, logins: openServices, statuses: openStatuses() },
    ...{ acting, rights: { level: 'owner', tenants: null } },
    ...rest,
  };
}

function groupOf(parent: Command, word: string): Command {
  const existing = parent.commands.find((command) => command.name() === word);
  return existing ?? parent.command(word).description(ABOUT_GROUPS[word] ?? '');
}

function argumentOf(words: string, { input }: AnyOperation): Argument {
  const schema = input.shape[words.replaceAll(/[<>[\].]/g, '')] as z.ZodType | undefined;
  const argument = new Argument(
    words,
    schema?.description ?? (words === '[file]' ? 'document; default: standard input' : ''),
  );
  if (schema instanceof z.ZodEnum) argument.choices(schema.options.map(String));
  return argument;
}

function optionOf(field: string, { input }: AnyOperation, { flags, about, preset }: OptionBinding): Option {
  const schema = input.shape[field] as z.ZodType;
  const inner = withoutDefault(schema);
  const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const value = inner instanceof z.ZodBoolean ? '' : ` <${inner instanceof z.ZodNumber ? 'count' : name}>`;
  const option = new Option(flags ?? `--${name}${value}`, helpOf(about ?? schema.description));
  option.attributeName = () => field;
  if (preset !== undefined) option.preset(preset);
  if (inner instanceof z.ZodEnum) option.choices(inner.options.map(String));
  if (inner instanceof z.ZodNumber) option.argParser(wholeNumber);
  if (inner instanceof z.ZodBoolean) option.default(false);
  else if (!schema.safeParse(undefined).success) option.makeOptionMandatory();
  return option;
}

/** Returns a description in the style of the help. */
function helpOf(description = ''): string {
  return `${description.charAt(0).toLowerCase()}${description.slice(1)}`;
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return withoutDefault(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function pick(values: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.flatMap((field) => (values[field] === undefined ? [] : [[field, values[field]]])));
}

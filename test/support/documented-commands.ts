import { type Command, CommanderError } from 'commander';
import { commandsOf, createProgram } from '../../src/operator/cli/program.ts';
import { unusedOutside } from '../../tools/unused-outside.ts';

/** A command as a document writes it. */
export interface DocumentedCommand {
  text: string;
  /** From 1. */
  line: number;
  /** The command is in a block, ready to paste, so it must be complete. A sentence may contain only the name of a command. */
  isWhole: boolean;
}

/** Every `clinic-mirror …` of a document, in blocks and in sentences. In a block with prompts, lines without a prompt are output. */
export function commandsIn(markdown: string): DocumentedCommand[] {
  let isBlock = false;
  let hasPrompt = false;
  return markdown.split('\n').flatMap((text, index): DocumentedCommand[] => {
    const line = index + 1;
    if (text.trimStart().startsWith('```')) {
      isBlock = !isBlock;
      hasPrompt = false;
      return [];
    }
    if (isBlock) {
      const isPrompt = /^\s*\$ /.test(text);
      hasPrompt ||= isPrompt;
      if (hasPrompt && !isPrompt) return [];
      const command =
        /^\s*(?:\$ )?(?:npx |docker compose (?:exec|run)(?: -\S+| --\S+)* daemon )?(clinic-mirror [^\s:<].*)$/.exec(
          text,
        )?.[1];
      return command === undefined ? [] : [{ text: command, line, isWhole: true }];
    }
    return [...text.matchAll(/`(clinic-mirror [^`<][^`]*)`/g)].map(([, command = '']) => ({
      text: command,
      line,
      isWhole: false,
    }));
  });
}

/** Parser errors that are acceptable for a command without its arguments and options. */
const NAME_ALONE: ReadonlySet<string> = new Set([
  'commander.help',
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
]);

/** What the program says against a documented command; null when it takes it. */
export async function commandFault({ text, isWhole }: DocumentedCommand): Promise<string | null> {
  const words = wordsOf(text);
  const program = openProgram(isWhole);
  try {
    await program.parseAsync(words.slice(1), { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The name of a group is enough in a sentence.
    const isName = !isWhole && NAME_ALONE.has(error.code);
    return isName || ['commander.helpDisplayed', 'commander.version'].includes(error.code) ? null : error.message;
  }
}

/** Names of the commands and groups at the top. */
export function commandNames(): ReadonlySet<string> {
  return new Set(createProgram(unusedOutside()).commands.flatMap((command) => [command.name(), ...command.aliases()]));
}

/** The real program, whose commands do nothing. */
function openProgram(isWhole: boolean): Command {
  const program = createProgram(unusedOutside());
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  for (const command of all(program))
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const { command } of commandsOf(program)) {
    command.action(() => {});
    for (const part of [...command.registeredArguments, ...command.options]) {
      const { parseArg } = part;
      if (parseArg === undefined) continue;
      // Text in angle brackets is a placeholder for any value.
      const lenient = (value: string, before: unknown) => (isPlaceholder(value) ? value : parseArg(value, before));
      Object.assign(part, { parseArg: lenient });
    }
    if (!isWhole) command.allowExcessArguments(false);
  }
  return program;
}

function isPlaceholder(value: string): boolean {
  return /^<.+>$/.test(value);
}

/** Returns a command's words, split as by a shell, up to a redirection, a following command or a comment. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [word, quoted, double] of text.matchAll(/'([^']*)'|"([^"]*)"|<[a-z -]+>\S*|\S+/g)) {
    if (quoted === undefined && double === undefined && /^(?:[|>&;#…]|<$)/.test(word)) break;
    words.push((quoted ?? double ?? word).replace(/^\[(.*)\]$/, '<$1>'));
  }
  return words;
}

import { SENTENCES } from '../../src/messages/message.ts';
import type { Source, TextRole } from '../../tools/house/source.ts';
import { commandNames } from './documented-commands.ts';

/** A command that a sentence, a next step or a view proposes to a person. */
export interface ProposedCommand {
  /** Code of the sentence, or path of the source file. */
  source: string;
  /** Words after `clinic-mirror`: names, options, and `<x>` for each value. */
  command: string;
}

/** Texts for people. */
const PROPOSING: ReadonlySet<TextRole> = new Set(['other', 'error']);
/** Texts with commands that propose nothing: descriptions of settings and codes, completion scripts, the heading of a written file. */
const NO_PROPOSALS =
  /-schema\.ts$|^src\/(?:operator\/(?:codes\/[a-z-]+|cli\/completion)|setup\/init\/settings-part)\.ts$/;
/** Up to a quote, a redirection, punctuation of the sentence or the end of the line. */
const NAMED = /clinic-mirror ((?:[^"`;,.:()<>|”»\n]|<[a-z]+>)+)/g;
/** The configuration directory before the name of a command. */
const DIRECTORY = /^(?:--config <x> |<x>(?=[a-z]))/;

/** Every proposed command with its source, each once. @param sources every file of `src/` */
export function proposedCommands(sources: readonly Pick<Source, 'path' | 'texts'>[]): ProposedCommand[] {
  const names = commandNames();
  const inTexts = (source: string, texts: readonly string[]) =>
    texts.flatMap((text) =>
      [...text.matchAll(NAMED)].flatMap(([, rest = '']) => {
        const command = normalized(rest);
        return isCommand(command, names) ? [{ source, command }] : [];
      }),
    );
  const found = [
    ...Object.values(SENTENCES).flatMap((sentences) =>
      Object.entries(sentences).flatMap(([code, text]) => inTexts(code, [text.replaceAll(/\{\w+[^{}]*\}/g, '<x>')])),
    ),
    ...sources.flatMap(({ path, texts }) =>
      path.startsWith('src/messages/') || NO_PROPOSALS.test(path)
        ? []
        : inTexts(
            path,
            texts.flatMap(({ text, role }) => (PROPOSING.has(role) ? [text.replaceAll('…', '<x>')] : [])),
          ),
    ),
  ];
  return [...new Map(found.map((each) => [keyOf(each), each])).values()];
}

/** Identifies a command of a source. */
export function keyOf({ source, command }: ProposedCommand): string {
  return `${source}: ${command}`;
}

function normalized(rest: string): string {
  return rest
    .replaceAll(/<[a-z]+>/g, '<x>')
    .replace(DIRECTORY, '')
    .trim();
}

function isCommand(command: string, names: ReadonlySet<string>): boolean {
  return names.has(command.split(' ')[0] ?? '');
}

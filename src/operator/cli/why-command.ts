import type { Command } from 'commander';
import type { Explanation } from '../codes/why.ts';
import { type Asked, type Print, stateWord } from './output.ts';
import { wrap } from './table.ts';

/** Adds `why`. It needs no configuration and no Redis, so that it also explains why these do not work. */
export function addWhy(program: Command, { print }: { print: Print }): void {
  program
    .command('why')
    .argument('<code>', 'code in brackets behind a message, or "code" of a log line')
    .description('explain a code: cause, effect, next step and an example')
    .option('--json', 'print JSON')
    .action(async (code: string, asked: Asked) => {
      const { explainCode } = await import('../codes/why.ts');
      const explanations = await explainCode(code);
      print(asked, { code, explanations }, () => renderWhy(explanations));
    });
}

/** Renders the explanations of a code, one for each part that reports the code. */
function renderWhy(explanations: readonly Explanation[]): string {
  return explanations.map(renderOne).join('\n\n');
}

function renderOne({ code, part, whoActs, example, meaning, effect, see }: Explanation): string {
  const who = whoActs === null ? '' : `: ${stateWord(whoActs)}`;
  return [
    `${code}${who} (${part})`,
    '',
    ...(example === null ? [] : [labelled('Example', `${example.replace(/[.]$/, '')} (${code})`)]),
    labelled('Next step', meaning),
    labelled('Effect', effect),
    ...see.map((page, index) => labelled(index === 0 ? 'More' : '', page)),
  ].join('\n');
}

const LABEL_WIDTH = 12;

function labelled(label: string, text: string): string {
  return label.padEnd(LABEL_WIDTH) + wrap(text, ' '.repeat(LABEL_WIDTH)).trimStart();
}

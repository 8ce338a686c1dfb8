/** Entry point of the thread that parses large DAV responses. */
import { answerApart } from '../../http/apart.ts';
import { partsInThread } from './xml.ts';

answerApart(partsInThread);

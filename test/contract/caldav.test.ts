import { openRadicaleTarget } from '../connectors/caldav/radicale-target.ts';
import { useRadicale } from '../support/radicale.ts';
import { describeConnector } from './connector-contract.ts';

const radicale = useRadicale();

describeConnector('caldav', () => openRadicaleTarget(radicale()));

import './guard.ts';
import { serve } from './server.ts';

void serve(process.argv[2] ?? null);

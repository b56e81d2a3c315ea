import { defineCommand } from 'citty';
import { usageError } from './context.ts';

/** Names of commands come from the caller, agents from the daemon at the moment of the Tab. */
function bash(commands: string): string {
  return `_agentbus() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${commands}" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
      send|rename|pause|resume) COMPREPLY=($(compgen -W "$(agentbus agents --names 2>/dev/null)" -- "$word")) ;;
      task) COMPREPLY=($(compgen -W "send list show answer cancel progress finish fetch" -- "$word")) ;;
      daemon) COMPREPLY=($(compgen -W "start stop status logs" -- "$word")) ;;
      config) COMPREPLY=($(compgen -W "list get set" -- "$word")) ;;
      completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")) ;;
    esac
  fi
}
complete -F _agentbus agentbus
`;
}

function zsh(commands: string): string {
  return `#compdef agentbus
_agentbus() {
  if (( CURRENT == 2 )); then compadd -- ${commands}
  elif (( CURRENT == 3 )); then
    case $words[2] in
      send|rename|pause|resume) compadd -- \${(f)"$(agentbus agents --names 2>/dev/null)"} ;;
      task) compadd -- send list show answer cancel progress finish fetch ;;
      daemon) compadd -- start stop status logs ;;
      config) compadd -- list get set ;;
      completion) compadd -- bash zsh fish ;;
    esac
  fi
}
compdef _agentbus agentbus
`;
}

function fish(commands: string): string {
  return `complete -c agentbus -f
complete -c agentbus -n __fish_use_subcommand -a "${commands}"
complete -c agentbus -n "__fish_seen_subcommand_from send rename pause resume" -a "(agentbus agents --names 2>/dev/null)"
complete -c agentbus -n "__fish_seen_subcommand_from task" -a "send list show answer cancel progress finish fetch"
complete -c agentbus -n "__fish_seen_subcommand_from daemon" -a "start stop status logs"
complete -c agentbus -n "__fish_seen_subcommand_from config" -a "list get set"
complete -c agentbus -n "__fish_seen_subcommand_from completion" -a "bash zsh fish"
`;
}

const SHELLS: Readonly<Record<string, (commands: string) => string>> = { bash, zsh, fish };

/** `names`: the commands of this version. */
export function completionCommand(names: readonly string[]) {
  return defineCommand({
    meta: { name: 'completion', description: 'Completion for a shell. Example: agentbus completion bash >> ~/.bashrc' },
    args: { shell: { type: 'positional', description: 'bash, zsh or fish', required: true } },
    run({ args }) {
      const script = SHELLS[args.shell];
      if (!script) throw usageError(`no completion for ${args.shell.slice(0, 40)}`, 'agentbus completion bash, zsh or fish');
      process.stdout.write(script(names.join(' ')));
    },
  });
}

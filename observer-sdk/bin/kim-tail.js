#!/usr/bin/env node
import '../dist/cli/tail/main.js'

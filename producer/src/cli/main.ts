process.stdout.write('0.1.0\n')
